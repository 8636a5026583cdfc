// Publishes one record for each known node. For this, the file decides which services on the network and
// which nodes of the configuration are the same node. It also publishes the origins whose pages are trusted
// here, and the origins to which this node's page may connect.

import { isIP } from 'node:net';
import type { Collection } from '../../protocol/actor/collections.js';
import type { NodeRecord } from '../../protocol/actor/schemas.js';
import { isInNetworks } from '../networks.js';
import type { Publisher } from '../runtime.js';
import type { ConfiguredNode } from './configured-nodes.js';
import { announcedNode, type Sighting, USELESS_NETWORKS } from './sighting.js';
import { configuredOrigins, HTTPS_PORT, trustedOrigins } from './trusted-origins.js';

/**
 * At most this many nodes that announce themselves are published. Further ones are left out until others
 * have gone. Nodes of the configuration do not count.
 */
const NODES_MAX = 64;
/** The default of the configuration's `api.port`. */
const DEFAULT_PORT = 8018;
const HTTP_PORT = 80;
const PAGE_PATH = '/ui';

interface KnownNodesParts {
  readonly publish: Pick<Publisher, 'put' | 'drop'>;
  /** True if the pages of other nodes may use this node. */
  readonly isTrusting: boolean;
  /** This node's name on the network; undefined while the node is not announced. */
  readonly ownName: () => string | undefined;
  /** The port at which this node listens; undefined until the port is known. */
  readonly ownPort: () => number | undefined;
}

export class KnownNodes {
  readonly #parts: KnownNodesParts;
  /** The keys of the published records, by collection. */
  readonly #publishedKeys = new Map<Collection, readonly string[]>();
  #sightings: readonly Sighting[] = [];
  #configuredNodes: readonly ConfiguredNode[] = [];
  #isUp = false;

  constructor(parts: KnownNodesParts) {
    this.#parts = parts;
  }

  /**
   * To be called before each status of discovery is reported. If the status is not `up`, the journal drops
   * all records of discovery. So this class forgets their keys, and sends no drops.
   */
  setIsUp(isUp: boolean): void {
    this.#isUp = isUp;
    if (!isUp) this.#publishedKeys.clear();
    this.publish();
  }

  setSightings(sightings: readonly Sighting[]): void {
    this.#sightings = sightings;
    this.publish();
  }

  setConfigured(nodes: readonly ConfiguredNode[]): void {
    this.#configuredNodes = nodes;
    this.publish();
  }

  /** Puts all records each time. The journal makes events only of those that have changed. */
  publish(): void {
    if (!this.#isUp) return;
    const configuredRecords = this.#configuredNodes.map((node) =>
      configuredRecord(node, this.#parts.ownPort()),
    );
    const nodes = this.#nodes(configuredRecords);
    this.#replace('nodes', new Map(nodes.map((node) => [node.name, node])));
    // `nodes.origins` is for the pages of other nodes, and `isTrusting` decides whether these pages may use
    // this node. `nodes.policy` is for this node's page, which may connect to trusted origins in any case.
    const namesByTrustedOrigin = namesByOrigin(nodes, trustedOrigins);
    this.#replace('nodes.origins', this.#parts.isTrusting ? namesByTrustedOrigin : new Map());
    // These origins come from `configuredRecords` instead of `nodes`, because a record of `nodes` that is
    // marked as configured may have addresses that a stranger has announced.
    const namesByConfiguredOrigin = namesByOrigin(configuredRecords, configuredOrigins);
    this.#replace('nodes.policy', new Map([...namesByTrustedOrigin, ...namesByConfiguredOrigin]));
  }

  #nodes(configuredRecords: readonly NodeRecord[]): readonly NodeRecord[] {
    const names = new Set(this.#sightings.map(({ name }) => name));
    const publishedNames = [...names].slice(0, NODES_MAX);
    let nodes: readonly NodeRecord[] = publishedNames.flatMap((name) => {
      const ofThisName = this.#sightings.filter((sighting) => sighting.name === name);
      return announcedNode(ofThisName, this.#parts.ownName()) ?? [];
    });
    for (const record of configuredRecords) nodes = withConfigured(nodes, record);
    return nodes;
  }

  #replace(collection: Collection, records: ReadonlyMap<string, unknown>): void {
    for (const key of this.#publishedKeys.get(collection) ?? [])
      if (!records.has(key)) this.#parts.publish.drop(collection, key);
    for (const [key, record] of records) this.#parts.publish.put(collection, key, JSON.stringify(record));
    this.#publishedKeys.set(collection, [...records.keys()]);
  }
}

function namesByOrigin(
  nodes: readonly NodeRecord[],
  originsOf: (node: NodeRecord) => readonly string[],
): ReadonlyMap<string, string> {
  return new Map(nodes.flatMap((node) => originsOf(node).map((origin) => [origin, node.name] as const)));
}

/**
 * Returns `nodes` and the configured node. If `nodes` has this node already, its record there is marked as
 * configured instead.
 */
function withConfigured(nodes: readonly NodeRecord[], configured: NodeRecord): readonly NodeRecord[] {
  const isListed = nodes.some((node) => isSameNode(node, configured));
  // A stranger may announce a node with the name of the configured one. The configured node replaces it.
  if (!isListed) return [...nodes.filter(({ name }) => name !== configured.name), configured];
  return nodes.map((node) =>
    isSameNode(node, configured) ? markedAsConfigured(node, configured.reachable) : node,
  );
}

function markedAsConfigured(node: NodeRecord, isReachableByUrl: boolean | undefined): NodeRecord {
  // Several URLs may lead to one node. The node is reachable if at least one URL reaches it. While
  // `isReachableByUrl` is undefined, the URL's first request has not ended, and `reachable` stays as it is.
  const isReachable = node.reachable === true || isReachableByUrl;
  return { ...node, configured: true, ...(isReachable !== undefined && { reachable: isReachable }) };
}

function isSameNode(one: NodeRecord, other: NodeRecord): boolean {
  const hosts = [one.host, ...one.addresses];
  const otherHosts = [other.host, ...other.addresses];
  return one.port === other.port && otherHosts.some((host) => hosts.includes(host));
}

/**
 * The record's name is the URL's host, because nobody announces a name for the node. A port other than
 * `DEFAULT_PORT` follows the host.
 */
function configuredRecord({ url, answer, isReachable }: ConfiguredNode, ownPort: number | undefined) {
  // A URL has an IPv6 address in brackets, such as `[fd00::1]`.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const portOfScheme = url.protocol === 'https:' ? HTTPS_PORT : HTTP_PORT;
  const port = url.port === '' ? portOfScheme : Number(url.port);
  // If the host is a name, `isIP` returns 0, and the node's address is the one that has answered.
  const address = isIP(host) === 0 ? answer?.address : host;
  // Nobody can use an address with HTTPS, because the certificate is for the name. The port tells HTTPS from
  // HTTP: the configuration allows HTTPS only at port 443, and HTTP only at other ports.
  const isAddressUseful =
    address !== undefined && port !== HTTPS_PORT && !isInNetworks(USELESS_NETWORKS, address);
  // An IPv6 address keeps its brackets before a port.
  const name = port === DEFAULT_PORT ? host : `${url.hostname}:${port}`;
  return {
    name,
    host,
    addresses: isAddressUseful ? [address] : [],
    port,
    path: PAGE_PATH,
    api: answer?.api ?? 'tonearm',
    ...(answer?.version !== undefined && { version: answer.version }),
    self: answer?.isOwnAddress === true && port === ownPort,
    configured: true,
    ...(isReachable !== undefined && { reachable: isReachable }),
  } as const satisfies NodeRecord;
}
