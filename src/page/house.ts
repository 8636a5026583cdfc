// The house: this node and all others that it knows, each with the page's own connection to it. Rooms come
// and go as the node's list of nodes says.

import type { NodeRecord, NodeState } from '../client/client.js';
import type { PageLive } from './node.js';
import { placesOf, RoomConnection, type RoomStatus } from './room-connection.js';

export interface Room {
  /** The same as long as the node is the same. */
  readonly key: string;
  /** The address of its page. */
  readonly href: string;
  /** The name while nothing else is known of it. */
  readonly name: string;
  readonly isOwn: boolean;
  /** `link`: a node of the other kind, which has only a page. */
  readonly status: RoomStatus | 'link';
  /** Undefined for a link. */
  readonly live: PageLive | undefined;
}

/** Rooms that are away are dropped beyond this number. */
const ROOMS_MAX = 64;
/** The key of this node's own room. */
const OWN = '';

export class House {
  readonly #draw: () => void;
  readonly #channel: string;
  readonly #connections = new Map<string, RoomConnection>();
  readonly #closing = new AbortController();

  /** `channel`: tabs that have the same one share the connections. */
  constructor(channel: string, draw: () => void) {
    this.#channel = channel;
    this.#draw = draw;
    const noteBlocked = ({ blockedURI }: SecurityPolicyViolationEvent): void => {
      for (const each of this.#connections.values()) each.noteBlocked(blockedURI);
    };
    document.addEventListener('securitypolicyviolation', noteBlocked, { signal: this.#closing.signal });
  }

  /**
   * Connects to nodes that have come. A node that has gone stays as a room that is away, until another has
   * its address: then it has another name now.
   */
  update(nodes: NodeState['nodes']): void {
    const present = [...nodes.values()].filter(isSpokenTo);
    for (const record of present) {
      const known = this.#connections.get(record.name);
      if (known === undefined)
        this.#connections.set(record.name, new RoomConnection(record, this.#channel, this.#draw));
      else known.update(record);
    }
    const places = present.flatMap(placesOf);
    for (const [name, connection] of this.#connections) {
      if (nodes.has(name)) continue;
      const isTooMany = this.#connections.size > ROOMS_MAX;
      const isRenamed = connection.places.some((place) => places.includes(place));
      if (isTooMany || isRenamed || !connection.isKnown) this.#drop(name);
    }
    this.#draw();
  }

  /**
   * This node first, then the others in an order that does not change, links last. `isAway`: this node is
   * away.
   */
  rooms(own: PageLive, isAway: boolean): readonly Room[] {
    const { connection, nodes } = own.state;
    const status = isAway ? 'away' : connection.status === 'live' ? 'live' : 'connecting';
    const rooms = [...this.#connections].map(([name, each]): Room => {
      const { place, path, live, status } = each;
      return { key: name, href: new URL(place).origin + path, name, isOwn: false, status, live };
    });
    const links = [...nodes.values()].filter((each) => !each.self && !this.#connections.has(each.name));
    return [
      {
        key: OWN,
        href: location.search === '' ? '#' : location.pathname,
        name: location.hostname,
        isOwn: true,
        status,
        live: own,
      },
      ...rooms.sort(byName),
      ...links.map(linkTo).sort(byName),
    ];
  }

  close(): void {
    this.#closing.abort();
    for (const connection of this.#connections.values()) connection.close();
    this.#connections.clear();
  }

  #drop(name: string): void {
    this.#connections.get(name)?.close();
    this.#connections.delete(name);
  }
}

function byName(one: Room, other: Room): number {
  return one.name < other.name ? -1 : 1;
}

function linkTo({ name, host, path, ...record }: NodeRecord): Room {
  const [place = `http://${host}`] = placesOf({ ...record, name, host, path });
  const href = new URL(place).origin + path;
  return { key: name, href, name, isOwn: false, status: 'link', live: undefined };
}

function isSpokenTo(record: NodeRecord): boolean {
  return record.api === 'tonearm' && !record.self && placesOf(record).length > 0;
}
