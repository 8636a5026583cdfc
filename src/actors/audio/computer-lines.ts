// Makes the lines that people type on another computer so that it plays on this node, for each of the two
// sound servers that the computer may have. Pure.

import type { NetworkRecord } from '../../protocol/actor/schemas.js';
import type { OpenPort } from './open-ports.js';

type ComputerCommand = NetworkRecord['commands'][number];

/** The node, as the computer reaches it. */
export interface NodeToReach {
  readonly address: string;
  /** Letters, digits, and `.`, `_`, `-`. */
  readonly hostname: string;
  /** The user who runs the sound server. */
  readonly user: string;
  /** The port of the daemon, if it serves the cookie; undefined if it does not. */
  readonly cookiePort: number | undefined;
}

/** The pause after which PulseAudio 16 and PipeWire 1.4 try again to connect to a node that is away. */
const RECONNECT_MS = 5_000;

/** The only file from which a tunnel of PipeWire takes its cookie. PipeWire itself does not need the file. */
const PIPEWIRE_COOKIE = '~/.config/pulse/cookie';

export function computerCommands(openPort: OpenPort, node: NodeToReach): ComputerCommand[] {
  const needsCookie = openPort.cookie === 'required';
  const cookieFile = `~/.config/pulse/${node.hostname}.cookie`;
  const fetchCookieTo = (file: string): readonly string[] => (needsCookie ? [cookieLine(node, file)] : []);
  const protocol = isIPv6(node.address) ? 'tcp6' : 'tcp';
  const server = `${protocol}:${inUrl(node.address)}:${openPort.port}`;
  const program = `PULSE_SERVER=${server}${needsCookie ? ` PULSE_COOKIE=${cookieFile}` : ''} PROGRAM`;
  const tunnel = `pactl load-module module-tunnel-sink server=${server}`;
  const cookieArgument = needsCookie ? `cookie=${cookieFile.replace('~', '$HOME')} ` : '';
  const sinkArguments = `sink_name=${node.hostname} reconnect_interval_ms=${RECONNECT_MS}`;
  const programLines = [...fetchCookieTo(cookieFile), program];
  return [
    { for: 'pulseaudio', use: 'program', lines: programLines },
    {
      for: 'pulseaudio',
      use: 'output',
      lines: [...fetchCookieTo(cookieFile), `${tunnel} ${cookieArgument}${sinkArguments}`],
    },
    { for: 'pipewire', use: 'program', lines: programLines },
    {
      for: 'pipewire',
      use: 'output',
      lines: [...fetchCookieTo(PIPEWIRE_COOKIE), `${tunnel} ${sinkArguments}`],
    },
  ];
}

/** Returns the line that copies the cookie to a file that only the user of the computer may read. */
function cookieLine({ address, user, cookiePort }: NodeToReach, file: string): string {
  const from = inUrl(address);
  const get =
    cookiePort === undefined
      ? `scp ${user}@${from}:.config/pulse/cookie ${file}`
      : `curl -f --create-dirs -o ${file} http://${from}:${cookiePort}/audio/cookie`;
  return `${get} && chmod 600 ${file}`;
}

function isIPv6(address: string): boolean {
  return address.includes(':');
}

function inUrl(address: string): string {
  return isIPv6(address) ? `[${address}]` : address;
}
