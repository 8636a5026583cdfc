// All nodes that this one knows, each once: those that were sighted on the network, and those that the
// configuration names. Publishes them, and the origins whose pages are trusted here.

import { isIP } from 'node:net';
import type { Collection } from '../../protocol/actor/collections.js';
import type { NodeRecord } from '../../protocol/actor/schemas.js';
import { isIn } from '../networks.js';
import type { Publisher } from '../runtime.js';
import type { NamedNode } from './named-nodes.js';
import { ELSEWHERE, nodeOf, type Sighting } from './sighting.js';
import { trustedOrigins } from './trusted-origins.js';

/** Further nodes of the network are left out, until others go. */
const NODES_MAX = 64;
const USUAL_PORT = 8018;
const HTTPS_PORT = 443;
const HTTP_PORT = 80;
const PAGE = '/ui';

interface KnownNodesParts {
  readonly publish: Pick<Publisher, 'put' | 'drop'>;
  /** Pages of other nodes may use this one. */
  readonly isTrusting: boolean;
  /** This node's name on the network; undefined while it is not announced. */
  readonly ownName: () => string | undefined;
  /** The port that this node is served at; undefined until that is known. */
  readonly ownPort: () => number | undefined;
}

export class KnownNodes {
  readonly #parts: KnownNodesParts;
  readonly #published = new Map<Collection, readonly string[]>();
  #sightings: readonly Sighting[] = [];
  #named: readonly NamedNode[] = [];
  #isUp = false;

  constructor(parts: KnownNodesParts) {
    this.#parts = parts;
  }

  /** Call it before the status is published: leaving `up` removes all records. */
  publishWhile(isUp: boolean): void {
    this.#isUp = isUp;
    if (!isUp) this.#published.clear();
    this.publish();
  }

  sighted(sightings: readonly Sighting[]): void {
    this.#sightings = sightings;
    this.publish();
  }

  named(nodes: readonly NamedNode[]): void {
    this.#named = nodes;
    this.publish();
  }

  /** All records are put each time: the journal publishes only those that have changed. */
  publish(): void {
    if (!this.#isUp) return;
    const nodes = this.#nodes();
    this.#replace('nodes', new Map(nodes.map((node) => [node.name, node])));
    const trusted = this.#parts.isTrusting ? nodes : [];
    const origins = trusted.flatMap((node) =>
      trustedOrigins(node).map((origin) => [origin, node.name] as const),
    );
    this.#replace('nodes.origins', new Map(origins));
  }

  #nodes(): readonly NodeRecord[] {
    const names = [...new Set(this.#sightings.map(({ name }) => name))].slice(0, NODES_MAX);
    const sighted = names.flatMap((name) => {
      const same = this.#sightings.filter((each) => each.name === name);
      return nodeOf(same, this.#parts.ownName()) ?? [];
    });
    return this.#named.reduce((nodes, each) => withNamed(nodes, each, this.#parts.ownPort()), sighted);
  }

  #replace(collection: Collection, records: ReadonlyMap<string, unknown>): void {
    for (const key of this.#published.get(collection) ?? [])
      if (!records.has(key)) this.#parts.publish.drop(collection, key);
    for (const [key, record] of records) this.#parts.publish.put(collection, key, JSON.stringify(record));
    this.#published.set(collection, [...records.keys()]);
  }
}

/** Adds a node that the configuration names, or marks it where it has been found already. */
function withNamed(nodes: readonly NodeRecord[], named: NamedNode, ownPort?: number): NodeRecord[] {
  const own = recordOf(named, ownPort);
  const { configured, reachable } = own;
  const isKnown = nodes.some((each) => isSame(each, own));
  // A configured node replaces an announced one of the same name, which may be a stranger's.
  if (!isKnown) return [...nodes.filter(({ name }) => name !== own.name), own];
  return nodes.map((each) => {
    if (!isSame(each, own)) return each;
    // Two URLs may lead to one node: it is enough that one of them does.
    const isReachable = each.reachable === true || reachable;
    return { ...each, configured, ...(isReachable !== undefined && { reachable: isReachable }) };
  });
}

function isSame(one: NodeRecord, other: NodeRecord): boolean {
  const places = [one.host, ...one.addresses];
  return one.port === other.port && [other.host, ...other.addresses].some((place) => places.includes(place));
}

/** A configured node is called by its address, as nobody announces a name for it. */
function recordOf({ url, answer, isReachable }: NamedNode, ownPort: number | undefined) {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const usual = url.protocol === 'https:' ? HTTPS_PORT : HTTP_PORT;
  const port = url.port === '' ? usual : Number(url.port);
  const address = isIP(host) === 0 ? answer?.address : host;
  // A certificate is for the name and not for an address.
  const isUseful = address !== undefined && port !== HTTPS_PORT && !isIn(ELSEWHERE, address);
  return {
    name: port === USUAL_PORT ? host : `${url.hostname}:${port}`,
    host,
    addresses: isUseful ? [address] : [],
    port,
    path: PAGE,
    api: answer?.api ?? 'tonearm',
    ...(answer?.version !== undefined && { version: answer.version }),
    self: answer?.isOwnAddress === true && port === ownPort,
    configured: true,
    ...(isReachable !== undefined && { reachable: isReachable }),
  } as const satisfies NodeRecord;
}
