// Decides by which TCP ports other machines can play on the sound server, and whether a port demands a
// cookie. Pure. docs/development/what-we-learnt.md, "PulseAudio and PipeWire", says how these servers read
// the arguments of their modules.

import { EVERY_ADDRESS, EVERY_IPV4, type InterfaceAddresses, reachableAt } from '../../host/own-addresses.js';
import type { NetworkRecord, SoundServerKind } from '../../protocol/actor/schemas.js';
import type { ModuleInfo } from '../../protocol/pulse/records.js';
import type { ListeningSocket } from './listening-sockets.js';

type LoadedModule = Pick<ModuleInfo, 'name' | 'argument'>;

/** A TCP port on which the sound server listens. `openPorts` leaves out addresses like 127.0.0.1. */
export interface OpenPort {
  readonly port: number;
  readonly addresses: readonly string[];
  readonly cookie: NonNullable<NetworkRecord['cookie']>;
  /** The networks that are let in without a cookie; only where `cookie` is `by_address`. */
  readonly allowed?: string[];
}

const NATIVE_MODULE = { name: 'module-native-protocol-tcp', defaultPort: 4713 };
/** Programs for PulseAudio cannot play at this module's port, so PipeWire's socket there is left out. */
const SIMPLE_MODULE = { name: 'module-simple-protocol-tcp', defaultPort: 4711 };

type ModuleArguments = Readonly<Record<string, string>>;

/** `sockets` are those of the server's process; undefined if the process cannot be read. */
export function openPorts(
  kind: SoundServerKind,
  modules: readonly LoadedModule[],
  sockets: readonly ListeningSocket[] | undefined,
): readonly OpenPort[] {
  // PipeWire lists no module for the ports that its configuration opens. So the ports of PipeWire come from
  // its sockets, or from its modules if its process cannot be read.
  const usesModules = kind === 'pulseaudio' || sockets === undefined;
  const ports = usesModules ? portsOfModules(kind, modules, sockets) : portsOfSockets(modules, sockets);
  return ports
    .map((openPort) => ({
      ...openPort,
      addresses: openPort.addresses.filter((address) => !isLoopback(address)),
    }))
    .filter(({ addresses }) => addresses.length > 0);
}

/** The addresses come from `sockets`, or from the arguments of the modules if `sockets` is undefined. */
function portsOfModules(
  kind: SoundServerKind,
  modules: readonly LoadedModule[],
  sockets: readonly ListeningSocket[] | undefined,
): readonly OpenPort[] {
  const ports: OpenPort[] = [];
  for (const args of argumentsOf(NATIVE_MODULE.name, modules)) {
    const cookieRule = cookieRuleOf(kind, args);
    if (cookieRule === undefined) continue;
    const port = portOf(args, NATIVE_MODULE);
    const addresses = sockets === undefined ? addressesFromArguments(args) : addressesAt(sockets, port);
    ports.push({ port, addresses, ...cookieRule });
  }
  return ports;
}

/**
 * Without the argument `listen`, PulseAudio and PipeWire listen at every address. `0.0.0.0` and `::` stand
 * for this together, because a sound server's socket at `::` accepts no IPv4.
 */
function addressesFromArguments({ listen }: ModuleArguments): readonly string[] {
  if (listen === undefined) return [EVERY_IPV4, EVERY_ADDRESS];
  // PipeWire's argument has brackets around an address of IPv6, as in `[::1]`.
  return [listen.replace(/^\[(.*)\]$/, '$1')];
}

/**
 * Returns the addresses at which other machines reach the port. A socket of a sound server at `::` accepts
 * no IPv4, unlike a socket of the daemon (docs/development/what-we-learnt.md, "PulseAudio and PipeWire").
 */
export function reachedAddresses({ addresses }: OpenPort, interfaces: InterfaceAddresses): string[] {
  const acceptsEveryIpv4 = addresses.includes(EVERY_IPV4);
  return reachableAt(addresses, interfaces)
    .map(({ info }) => info)
    .filter(({ address, family }) => family === 'IPv6' || acceptsEveryIpv4 || addresses.includes(address))
    .map(({ address }) => address);
}

function portsOfSockets(
  modules: readonly LoadedModule[],
  sockets: readonly ListeningSocket[],
): readonly OpenPort[] {
  const simplePorts = argumentsOf(SIMPLE_MODULE.name, modules).map((args) => portOf(args, SIMPLE_MODULE));
  const ports = new Set(sockets.map(({ port }) => port));
  return [...ports]
    .filter((port) => !simplePorts.includes(port))
    .map((port) => ({ port, addresses: addressesAt(sockets, port), cookie: 'unused' }));
}

function addressesAt(sockets: readonly ListeningSocket[], port: number): readonly string[] {
  return sockets.filter((socket) => socket.port === port).map(({ address }) => address);
}

/**
 * PipeWire accepts any cookie, so the `cookie` of its ports is `unused`. Undefined for a port that lets
 * nobody in.
 */
function cookieRuleOf(
  kind: SoundServerKind,
  args: ModuleArguments,
): Pick<OpenPort, 'cookie' | 'allowed'> | undefined {
  if (kind === 'pipewire' || isTrue(args['auth-anonymous'])) return { cookie: 'unused' };
  const allowed = (args['auth-ip-acl'] ?? '').split(';').filter((network) => network !== '');
  if (allowed.length > 0) return { cookie: 'by_address', allowed };
  return isTrue(args['auth-cookie-enabled'] ?? 'yes') ? { cookie: 'required' } : undefined;
}

function isTrue(text = ''): boolean {
  return /^(?:1|y|yes|t|true|on)$/i.test(text);
}

function portOf(args: ModuleArguments, { defaultPort }: { readonly defaultPort: number }): number {
  return Number(args['port'] ?? defaultPort);
}

function argumentsOf(name: string, modules: readonly LoadedModule[]): readonly ModuleArguments[] {
  return modules.filter((module) => module.name === name).map((module) => parsedArguments(module.argument));
}

/**
 * Matches each argument in a text such as `a=b c='d e'`, as PulseAudio reads it. `\\.` matches a backslash
 * and the character after it, so that an escaped quote does not end the value.
 */
const MODULE_ARGUMENT =
  /(?<key>[\w.-]+)=(?:'(?<singleQuoted>(?:[^'\\]|\\.)*)'|"(?<doubleQuoted>(?:[^"\\]|\\.)*)"|(?<plain>\S*))/gs;

function parsedArguments(argument = ''): ModuleArguments {
  const entries: [string, string][] = [];
  for (const { groups = {} } of argument.matchAll(MODULE_ARGUMENT)) {
    const { key = '', singleQuoted, doubleQuoted, plain = '' } = groups;
    const value = singleQuoted ?? doubleQuoted ?? plain;
    const unescaped = value.replace(/\\(.)/gs, '$1');
    entries.push([key, unescaped]);
  }
  return Object.fromEntries(entries);
}

/**
 * Matches the beginning of an IPv4 loopback address, such as `127.0.0.1`. The address may be mapped to IPv6:
 * `::ffff:127.0.0.1`, or `::ffff:7f00:1` as listening-sockets.ts writes it.
 */
const IPV4_LOOPBACK = /^(?:(?:::ffff:)?127\.|::ffff:7f[\da-f]{2}:)/;

function isLoopback(address: string): boolean {
  return address === '::1' || address === 'localhost' || IPV4_LOOPBACK.test(address);
}
