// Decides by which TCP ports other machines can play on the sound server, and whether each demands a cookie.
// Pure. The two servers treat the options of their modules as in docs/development/what-we-learnt.md,
// "PulseAudio and PipeWire".

import { EVERY_ADDRESS } from '../../host/own-addresses.js';
import type { NetworkRecord, SoundServerKind } from '../../protocol/actor/schemas.js';
import type { ModuleInfo } from '../../protocol/pulse/records.js';
import type { ListeningSocket } from './listening-sockets.js';

type LoadedModule = Pick<ModuleInfo, 'name' | 'argument'>;

/** A port of the sound server, with the addresses on which it listens, none of them loopback. */
export interface NetworkDoor {
  readonly port: number;
  readonly addresses: readonly string[];
  readonly cookie: NonNullable<NetworkRecord['cookie']>;
  /** The networks that are let in without a cookie. */
  readonly allowed?: string[];
}

const NATIVE = { name: 'module-native-protocol-tcp', port: 4713 };
/** PipeWire's process may also listen for this one, which is no sound server's protocol. */
const SIMPLE = { name: 'module-simple-protocol-tcp', port: 4711 };

type Arguments = Readonly<Record<string, string>>;

/** `sockets`: those of the server's process; undefined where it cannot be read. */
export function networkDoors(
  kind: SoundServerKind,
  modules: readonly LoadedModule[],
  sockets: readonly ListeningSocket[] | undefined,
): readonly NetworkDoor[] {
  const isByModule = kind === 'pulseaudio' || sockets === undefined;
  const doors = isByModule ? doorsOfModules(kind, modules, sockets) : doorsOfSockets(modules, sockets);
  return doors
    .map((door) => ({ ...door, addresses: door.addresses.filter((address) => !isLoopback(address)) }))
    .filter(({ addresses }) => addresses.length > 0);
}

function doorsOfModules(
  kind: SoundServerKind,
  modules: readonly LoadedModule[],
  sockets: readonly ListeningSocket[] | undefined,
): readonly NetworkDoor[] {
  return argumentsOf(NATIVE.name, modules).flatMap((args) => {
    const port = portOf(args, NATIVE);
    const lock = lockOf(kind, args);
    const addresses = sockets?.filter((socket) => socket.port === port).map(({ address }) => address);
    const configured = [args['listen'] ?? EVERY_ADDRESS];
    return lock === undefined ? [] : [{ port, addresses: addresses ?? configured, ...lock }];
  });
}

/** PipeWire opens the ports of its configuration without any module that could be listed. */
function doorsOfSockets(
  modules: readonly LoadedModule[],
  sockets: readonly ListeningSocket[],
): readonly NetworkDoor[] {
  const others = argumentsOf(SIMPLE.name, modules).map((args) => portOf(args, SIMPLE));
  const ports = [...new Set(sockets.map(({ port }) => port))].filter((port) => !others.includes(port));
  return ports.map((port) => {
    const addresses = sockets.filter((socket) => socket.port === port).map(({ address }) => address);
    return { port, addresses, cookie: 'unused' };
  });
}

/** Undefined for a port that lets nobody in. */
function lockOf(kind: SoundServerKind, args: Arguments): Pick<NetworkDoor, 'cookie' | 'allowed'> | undefined {
  if (kind === 'pipewire' || isTrue(args['auth-anonymous'])) return { cookie: 'unused' };
  const allowed = (args['auth-ip-acl'] ?? '').split(';').filter((network) => network !== '');
  if (allowed.length > 0) return { cookie: 'by_address', allowed };
  return isTrue(args['auth-cookie-enabled'] ?? 'yes') ? { cookie: 'required' } : undefined;
}

function isTrue(text = ''): boolean {
  return /^(?:1|y|yes|t|true|on)$/i.test(text);
}

function portOf(args: Arguments, { port }: { readonly port: number }): number {
  return Number(args['port'] ?? port);
}

function argumentsOf(name: string, modules: readonly LoadedModule[]): readonly Arguments[] {
  return modules.filter((module) => module.name === name).map((module) => moduleArguments(module.argument));
}

/** `a=b c='d e'`, as PulseAudio reads the arguments of a module. */
const ARGUMENT = /([\w.-]+)=(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\S*))/gs;

function moduleArguments(argument = ''): Arguments {
  const found = [...argument.matchAll(ARGUMENT)].map(
    ([, key = '', single, double, plain]): [string, string] => [
      key,
      (single ?? double ?? plain ?? '').replace(/\\(.)/gs, '$1'),
    ],
  );
  return Object.fromEntries(found);
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127\./.test(address) || address === 'localhost';
}
