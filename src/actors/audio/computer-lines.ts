// The lines that people type on a computer so that it plays on this node, for either sound server there.
// Pure.

import type { NetworkRecord } from '../../protocol/actor/schemas.js';
import type { NetworkDoor } from './network-doors.js';

type ComputerCommand = NetworkRecord['commands'][number];

/** The node, as the computer reaches it. */
export interface NodeToReach {
  readonly address: string;
  /** Letters, digits, and `.`, `_`, `-`. */
  readonly hostname: string;
  /** The user who runs the sound server. */
  readonly user: string;
  /** The port at which the service gives the cookie; undefined if it does not. */
  readonly cookiePort: number | undefined;
}

/** Milliseconds after which PulseAudio 16 and PipeWire 1.4 look for a node that was away. */
const RECONNECT_MS = 5_000;

/** PipeWire's tunnel takes a cookie only from here; it has no other use for the file. */
const PIPEWIRE_COOKIE = '~/.config/pulse/cookie';

export function computerCommands(door: NetworkDoor, node: NodeToReach): ComputerCommand[] {
  const isLocked = door.cookie === 'required';
  const own = `~/.config/pulse/${node.hostname}.cookie`;
  const server = `${isIPv6(node.address) ? 'tcp6' : 'tcp'}:${inUrl(node.address)}:${door.port}`;
  const fetch = (file: string): readonly string[] => (isLocked ? [cookieLine(node, file)] : []);
  const program = `PULSE_SERVER=${server}${isLocked ? ` PULSE_COOKIE=${own}` : ''} PROGRAM`;
  const tunnel = `pactl load-module module-tunnel-sink server=${server}`;
  const sink = `sink_name=${node.hostname} reconnect_interval_ms=${RECONNECT_MS}`;
  const cookie = isLocked ? `cookie=${own.replace('~', '$HOME')} ` : '';
  return [
    { for: 'pulseaudio', use: 'program', lines: [...fetch(own), program] },
    { for: 'pulseaudio', use: 'output', lines: [...fetch(own), `${tunnel} ${cookie}${sink}`] },
    { for: 'pipewire', use: 'program', lines: [...fetch(own), program] },
    { for: 'pipewire', use: 'output', lines: [...fetch(PIPEWIRE_COOKIE), `${tunnel} ${sink}`] },
  ];
}

/** Only the computer's user may read the file. */
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
