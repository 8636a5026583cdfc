// A service on the network as one resolver found it, and the node that sightings of one service make. Pure.
// Everything here comes from strangers on the network: what does not fit its bound or form is left out.

import { isIP, isIPv6 } from 'node:net';
import type { NodeRecord } from '../../protocol/actor/schemas.js';
import { isIn } from '../networks.js';
import { capped } from '../text.js';

const APIS = ['tonearm', 'odio-api'] as const;
const VERSION_MAX_UNITS = 64;
const PATH_MAX_UNITS = 256;
/** The characters of a path, a query and a fragment (RFC 3986). */
const PATH = /^\/[\w\-.~!$&'()*+,;=:@%/?#]*$/;
/** A name that only the network here gives: another one could lead out of the house. */
export const HOST = /^[a-z0-9](?:[\w.-]{0,246}[a-z0-9])?\.local$/i;

/**
 * Addresses that lead somewhere else for each reader, or that no browser can ask: a link-local IPv6 address
 * needs a scope.
 */
export const ELSEWHERE = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '224.0.0.0/3',
  '::/96',
  '::ffff:0:0/96',
  'fe80::/10',
  'ff00::/8',
];

export interface Sighting {
  readonly name: string;
  readonly host: string;
  /** Undefined if it is of no use to others. */
  readonly address: string | undefined;
  readonly port: number;
  readonly path: string;
  readonly api: NodeRecord['api'];
  readonly version?: string;
  readonly isLocal: boolean;
}

/** The service that a resolver found; undefined if it is no node. */
export function sightingOf(
  { name, host, address, port }: Pick<Sighting, 'name' | 'host' | 'port'> & { readonly address: string },
  txt: readonly Uint8Array[],
  isLocal: boolean,
): Sighting | undefined {
  const pairs = pairsOf(txt);
  const api = APIS.find((each) => each === pairs.get('api'));
  if (api === undefined || port === 0 || !HOST.test(host)) return undefined;
  const path = pairs.get('path') ?? '/';
  const version = pairs.get('version') ?? '';
  return {
    name,
    host,
    port,
    api,
    isLocal,
    address: isIP(address) !== 0 && !isIn(ELSEWHERE, address) ? address : undefined,
    path: path.length <= PATH_MAX_UNITS && PATH.test(path) ? path : '/',
    ...(version !== '' && { version: capped(version, VERSION_MAX_UNITS) }),
  };
}

/** One service may be sighted on several interfaces. `own`: this node's name on the network. */
export function nodeOf(sightings: readonly Sighting[], own: string | undefined): NodeRecord | undefined {
  const [first] = sightings;
  if (first === undefined) return undefined;
  const { name, host, port, path, api, version } = first;
  // Two hosts on two networks may have one name; the first is published.
  const same = sightings.filter((each) => each.host === host && each.port === port);
  const addresses = new Set(same.flatMap(({ address }) => address ?? []));
  return {
    name,
    host,
    addresses: [...addresses].sort(byFamily),
    port,
    path,
    api,
    ...(version !== undefined && { version }),
    self: same.some(({ isLocal }) => isLocal) && name === own,
  };
}

/** IPv4 first; the rest is an order that does not change. */
function byFamily(one: string, other: string): number {
  return Number(isIPv6(one)) - Number(isIPv6(other)) || (one < other ? -1 : 1);
}

/** The first pair of each key counts (RFC 6763, 6.4); keys may be in any case. */
function pairsOf(txt: readonly Uint8Array[]): ReadonlyMap<string, string> {
  const texts = txt.map((bytes) => Buffer.from(bytes).toString('utf8'));
  const pairs = texts.map((text) => /^([^=]*)=?(.*)$/s.exec(text) ?? []);
  return new Map(pairs.reverse().map(([, key = '', value = '']) => [key.toLowerCase(), value]));
}
