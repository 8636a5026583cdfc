// Decides by which TCP ports other machines can play on the sound server, and whether each demands a cookie.
// Pure. How the two servers understand the arguments of their modules stands in
// docs/development/what-we-learnt.md, "PulseAudio and PipeWire".

import { EVERY_ADDRESS } from '../../host/own-addresses.js';
import type { NetworkRecord, SoundServerKind } from '../../protocol/actor/schemas.js';
import type { ModuleInfo } from '../../protocol/pulse/records.js';
import type { ListeningSocket } from './listening-sockets.js';

type LoadedModule = Pick<ModuleInfo, 'name' | 'argument'>;

/** A TCP port on which the sound server listens. None of the addresses is loopback. */
export interface OpenPort {
  readonly port: number;
  readonly addresses: readonly string[];
  readonly cookie: NonNullable<NetworkRecord['cookie']>;
  /** The networks that are let in without a cookie. */
  readonly allowed?: string[];
}

const NATIVE = { name: 'module-native-protocol-tcp', port: 4713 };
/** PipeWire's process may listen for this module, too, but nobody can play by the module's protocol. */
const SIMPLE = { name: 'module-simple-protocol-tcp', port: 4711 };

type Arguments = Readonly<Record<string, string>>;

/** `sockets`: those of the server's process; undefined if the process cannot be read. */
export function openPorts(
  kind: SoundServerKind,
  modules: readonly LoadedModule[],
  sockets: readonly ListeningSocket[] | undefined,
): readonly OpenPort[] {
  const areModulesEnough = kind === 'pulseaudio' || sockets === undefined;
  const ports = areModulesEnough ? portsOfModules(kind, modules, sockets) : portsOfSockets(modules, sockets);
  return ports
    .map((port) => ({ ...port, addresses: port.addresses.filter((address) => !isLoopback(address)) }))
    .filter(({ addresses }) => addresses.length > 0);
}

/** Without `sockets`, the addresses are those of the module's arguments. */
function portsOfModules(
  kind: SoundServerKind,
  modules: readonly LoadedModule[],
  sockets: readonly ListeningSocket[] | undefined,
): readonly OpenPort[] {
  return argumentsOf(NATIVE.name, modules).flatMap((args) => {
    const port = portOf(args, NATIVE);
    const cookieRule = cookieRuleOf(kind, args);
    if (cookieRule === undefined) return [];
    const addresses = sockets === undefined ? [args['listen'] ?? EVERY_ADDRESS] : addressesAt(sockets, port);
    return [{ port, addresses, ...cookieRule }];
  });
}

/** Used for PipeWire, which lists no module for the ports that its configuration opens. */
function portsOfSockets(
  modules: readonly LoadedModule[],
  sockets: readonly ListeningSocket[],
): readonly OpenPort[] {
  const others = argumentsOf(SIMPLE.name, modules).map((args) => portOf(args, SIMPLE));
  const ports = new Set(sockets.map(({ port }) => port));
  return [...ports]
    .filter((port) => !others.includes(port))
    .map((port) => ({ port, addresses: addressesAt(sockets, port), cookie: 'unused' }));
}

function addressesAt(sockets: readonly ListeningSocket[], port: number): readonly string[] {
  return sockets.filter((socket) => socket.port === port).map(({ address }) => address);
}

/** Undefined for a port that lets nobody in. */
function cookieRuleOf(
  kind: SoundServerKind,
  args: Arguments,
): Pick<OpenPort, 'cookie' | 'allowed'> | undefined {
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
  const entries = [...argument.matchAll(ARGUMENT)].map(
    ([, key = '', singleQuoted, doubleQuoted, plain = '']): [string, string] => {
      const value = singleQuoted ?? doubleQuoted ?? plain;
      return [key, value.replace(/\\(.)/gs, '$1')];
    },
  );
  return Object.fromEntries(entries);
}

function isLoopback(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127\./.test(address) || address === 'localhost';
}
