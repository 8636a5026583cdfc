// Decides which services on the network are nodes, and makes the records of these nodes. Anybody can announce
// a service, so values of a wrong form or size are left out, replaced or cut. Pure.

import { isIP, isIPv6 } from 'node:net';
import { capped } from '../../printable.js';
import type { NodeRecord } from '../../protocol/actor/schemas.js';
import { isInNetworks } from '../networks.js';

const APIS = ['tonearm', 'odio-api'] as const;
/** The name of odio-api's service begins like this. The service's TXT record has no `api` and no `path`. */
const ODIO_NAME = /^odio-api\b/;
const ODIO_PATH = '/ui';
/** In UTF-16 units. A longer version is cut. */
const VERSION_MAX_UNITS = 64;
/** In UTF-16 units. A longer path is replaced by `/`. */
const PATH_MAX_UNITS = 256;
/** A `/`, then characters that a path, query or fragment may have (RFC 3986), as in `/ui?view=now#top`. */
const PATH = /^\/[\w\-.~!$&'()*+,;=:@%/?#]*$/;
/**
 * A name below `.local`, such as `kitchen.local`. Any other name could lead out of this network. The part
 * before `.local` has at most 248 characters. It begins and ends with a letter or a digit.
 */
export const LOCAL_HOST = /^[a-z0-9](?:[\w.-]{0,246}[a-z0-9])?\.local$/i;

/** The networks whose addresses are of no use to other machines. */
export const USELESS_NETWORKS = [
  // These addresses stand for the sender's own network (RFC 1122), and nobody can connect to them.
  '0.0.0.0/8',
  // A loopback address leads each machine to itself.
  '127.0.0.0/8',
  // These are the multicast addresses, which belong to no single machine, and the reserved ones.
  '224.0.0.0/3',
  // This contains the loopback address `::1`.
  '::/96',
  // These are IPv4 addresses in the notation of IPv6.
  '::ffff:0:0/96',
  // A link-local address needs a scope, but no URL in a web browser can have a scope.
  'fe80::/10',
  // These are the multicast addresses.
  'ff00::/8',
];

/** A service that one resolver has found, on one interface and by one protocol. */
export interface Sighting {
  readonly name: string;
  /** In lower case, as in a URL, because capitals do not distinguish host names (RFC 4343). */
  readonly host: string;
  /** Undefined if Avahi reports no IP address, or one that is of no use to other machines. */
  readonly address: string | undefined;
  readonly port: number;
  readonly path: string;
  readonly api: NodeRecord['api'];
  readonly version?: string;
  /** True for a service of this machine. */
  readonly isLocal: boolean;
}

/** A service as its resolver reports it. */
interface ReportedService {
  readonly name: string;
  readonly host: string;
  readonly address: string;
  readonly port: number;
}

/** Undefined if the service is no node. */
export function parseSighting(
  { name, host, address, port }: ReportedService,
  txt: readonly Uint8Array[],
  isLocal: boolean,
): Sighting | undefined {
  const pairs = txtPairs(txt);
  const isOdioByName = !pairs.has('api') && ODIO_NAME.test(name);
  const api = isOdioByName ? 'odio-api' : APIS.find((candidate) => candidate === pairs.get('api'));
  // Port 0 stands for a service that the host does not offer (RFC 6763, section 8).
  if (api === undefined || port === 0 || !LOCAL_HOST.test(host)) return undefined;
  const path = pairs.get('path') ?? (isOdioByName ? ODIO_PATH : '/');
  const isPath = path.length <= PATH_MAX_UNITS && PATH.test(path);
  const version = pairs.get('version') ?? '';
  const isAddressUseful = isIP(address) !== 0 && !isInNetworks(USELESS_NETWORKS, address);
  return {
    name,
    host: host.toLowerCase(),
    port,
    api,
    isLocal,
    address: isAddressUseful ? address : undefined,
    path: isPath ? path : '/',
    ...(version !== '' && { version: capped(version, VERSION_MAX_UNITS) }),
  };
}

/**
 * The record of one node. All `sightings` have this node's name. Undefined if there are no sightings.
 * `ownName` is the name of the daemon's own node on the network. It is undefined while Avahi does not
 * announce that node.
 */
export function announcedNode(
  sightings: readonly Sighting[],
  ownName: string | undefined,
): NodeRecord | undefined {
  const [first] = sightings;
  if (first === undefined) return undefined;
  const { name, host, port, path, api, version } = first;
  // Two hosts on different networks may announce the same name. Only the host and the port of the first
  // sighting are published.
  const ofThisNode = sightings.filter((sighting) => sighting.host === host && sighting.port === port);
  const addresses = new Set(ofThisNode.flatMap(({ address }) => address ?? []));
  // This machine may announce other nodes, too, so `isLocal` alone does not decide `self`.
  return {
    name,
    host,
    addresses: [...addresses].sort(byFamily),
    port,
    path,
    api,
    ...(version !== undefined && { version }),
    self: ofThisNode.some(({ isLocal }) => isLocal) && name === ownName,
  };
}

/** Orders addresses: IPv4 first, and within a family always in the same order. */
function byFamily(one: string, other: string): number {
  if (isIPv6(one) !== isIPv6(other)) return isIPv6(one) ? 1 : -1;
  return one < other ? -1 : 1;
}

/**
 * The pairs of a TXT record, such as `path=/ui`, by key in lower case. A key without `=` has an empty value.
 * If a key occurs several times, its first pair counts (RFC 6763, section 6.4).
 */
function txtPairs(txt: readonly Uint8Array[]): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  for (const bytes of txt) {
    const text = Buffer.from(bytes).toString('utf8');
    const [, key = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(text) ?? [];
    const lowerKey = key.toLowerCase();
    if (!pairs.has(lowerKey)) pairs.set(lowerKey, value);
  }
  return pairs;
}
