// Makes the commands that let another computer play on this node. The other computer may have PulseAudio or
// PipeWire. Pure.

import type { NetworkRecord } from '../../protocol/actor/schemas.js';
import type { OpenPort } from './open-ports.js';

type ComputerCommand = NetworkRecord['commands'][number];

/** The node, as the computer reaches it. */
export interface NodeToReach {
  readonly address: string;
  /** The sound server reports it, so it may have any characters, or none. */
  readonly hostname: string;
  /** The user who runs the sound server. Like the hostname, the name may have any characters, or none. */
  readonly user: string;
  /** The port of the daemon; undefined if the daemon does not serve the cookie. */
  readonly cookiePort: number | undefined;
}

/** The pause after which a tunnel tries again to reach a lost node. PipeWire 0.3.65 does not try again. */
const RECONNECT_MS = 5_000;

/** The name of a user that means nothing else to a shell or to scp. */
const PLAIN_USER = /^\w[\w.-]*$/;

const PULSE_FOLDER = '~/.config/pulse';
/**
 * On a computer with PipeWire, a tunnel takes the node's cookie only from this file. The commands may
 * overwrite the computer's own cookie there, because PipeWire asks its clients for no cookie.
 */
const PIPEWIRE_COOKIE_FILE = `${PULSE_FOLDER}/cookie`;

export function computerCommands(openPort: OpenPort, node: NodeToReach): ComputerCommand[] {
  const needsCookie = openPort.cookie === 'required';
  const name = nameOnComputer(node);
  const cookieFile = `${PULSE_FOLDER}/${name}.cookie`;
  const cookieLinesFor = (file: string): readonly string[] =>
    needsCookie ? [lineToCopyCookie(node, file)] : [];
  const protocol = isIPv6(node.address) ? 'tcp6' : 'tcp';
  const server = `${protocol}:${inUrl(node.address)}:${openPort.port}`;
  const cookieVariable = needsCookie ? ` PULSE_COOKIE=${cookieFile}` : '';
  const lineToRunProgram = `PULSE_SERVER=${server}${cookieVariable} PROGRAM`;
  const tunnelCommand = `pactl load-module module-tunnel-sink server=${server}`;
  // Some shells do not expand `~` in an argument such as `cookie=~/…`. Every shell expands `$HOME` there.
  const cookieArgument = needsCookie ? `cookie=${cookieFile.replace('~', '$HOME')} ` : '';
  const sinkArguments = `sink_name=${name} reconnect_interval_ms=${RECONNECT_MS}`;
  const programLines = [...cookieLinesFor(cookieFile), lineToRunProgram];
  return [
    { for: 'pulseaudio', use: 'program', lines: programLines },
    {
      for: 'pulseaudio',
      use: 'output',
      lines: [...cookieLinesFor(cookieFile), `${tunnelCommand} ${cookieArgument}${sinkArguments}`],
    },
    { for: 'pipewire', use: 'program', lines: programLines },
    {
      for: 'pipewire',
      use: 'output',
      lines: [...cookieLinesFor(PIPEWIRE_COOKIE_FILE), `${tunnelCommand} ${sinkArguments}`],
    },
  ];
}

/**
 * The name that the node's cookie file and output have on the computer. Two machines may have the same
 * hostname, so the name contains the address, too. The name consists of letters, digits, `-`, and one `_`
 * before the address. It does not contain the user, so the nodes of two users on one machine have the same
 * name. tonearm-setup makes the name by the same rules.
 */
function nameOnComputer({ hostname, address }: NodeToReach): string {
  return `${onlyPlain(hostname) || 'node'}_${onlyPlain(address)}`;
}

function onlyPlain(text: string): string {
  return text.replace(/[^A-Za-z0-9]/g, '-');
}

/** Returns the line that copies the cookie to a file that only the user of the computer may read. */
function lineToCopyCookie({ address, user, cookiePort }: NodeToReach, file: string): string {
  const host = inUrl(address);
  // Without a user, scp takes the name of the user on the computer.
  const userAndHost = PLAIN_USER.test(user) ? `${user}@${host}` : host;
  const copyCommand =
    cookiePort === undefined
      ? `mkdir -p ${PULSE_FOLDER} && scp ${userAndHost}:.config/pulse/cookie ${file}`
      : `curl -f --create-dirs -o ${file} http://${host}:${cookiePort}/audio/cookie`;
  return `${copyCommand} && chmod 600 ${file}`;
}

function isIPv6(address: string): boolean {
  return address.includes(':');
}

function inUrl(address: string): string {
  return isIPv6(address) ? `[${address}]` : address;
}
