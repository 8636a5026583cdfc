// Decides which rooms the house has: this node, and the other nodes that this node knows. Keeps one
// connection to each other node that has this interface.

import type { NodeRecord, NodeState } from '../client/client.js';
import type { PageLive } from './node.js';
import { nodeUrls, RoomConnection, type RoomStatus } from './room-connection.js';

export interface Room {
  /** Identifies the node, even after its address has changed. */
  readonly key: string;
  /** The address of the node's page. */
  readonly href: string;
  /**
   * The name under which the node is announced; for this node, the host name in the page's address. It is
   * displayed until the node's state is known.
   */
  readonly name: string;
  readonly isOwn: boolean;
  /** A room is a `link` if its node runs another program. The program has a page, but not this interface. */
  readonly status: RoomStatus | 'link';
  /** Undefined for a link. */
  readonly live: PageLive | undefined;
}

/** While there are more connections than this, the connections to nodes that have left are dropped. */
const ROOMS_MAX = 64;
const OWN_KEY = '';

export class House {
  readonly #draw: () => void;
  readonly #channel: string;
  readonly #connections = new Map<string, RoomConnection>();
  readonly #closing = new AbortController();

  /** Tabs that have the same `channel` share the connections. */
  constructor(channel: string, draw: () => void) {
    this.#channel = channel;
    this.#draw = draw;
    const noteBlocked = ({ blockedURI }: SecurityPolicyViolationEvent): void => {
      for (const connection of this.#connections.values()) connection.noteBlocked(blockedURI);
    };
    document.addEventListener('securitypolicyviolation', noteBlocked, { signal: this.#closing.signal });
  }

  /**
   * Connects to each new node in `nodes` that can be controlled. A node that has left `nodes` stays as a
   * room, except in three cases: there are too many rooms, the node's state is unknown, or the node shares a
   * URL with a node in `nodes`. In the last case the two are the same node, which has a new name.
   */
  update(nodes: NodeState['nodes']): void {
    const controllable = [...nodes.values()].filter(isControllableNode);
    for (const record of controllable) {
      const connection = this.#connections.get(record.name);
      if (connection === undefined)
        this.#connections.set(record.name, new RoomConnection(record, this.#channel, this.#draw));
      else connection.update(record);
    }
    const urls = controllable.flatMap(nodeUrls);
    for (const [name, connection] of this.#connections) {
      if (nodes.has(name)) continue;
      const areTooMany = this.#connections.size > ROOMS_MAX;
      const isRenamed = connection.possibleUrls.some((url) => urls.includes(url));
      const isStateUnknown = !connection.hasState;
      if (areTooMany || isRenamed || isStateUnknown) this.#drop(name);
    }
    this.#draw();
  }

  /** This node's room is first, and links are last. `isAway` is true if this node is away. */
  rooms(ownLive: PageLive, isAway: boolean): readonly Room[] {
    const { connection, nodes } = ownLive.state;
    const ownStatus = connection.status === 'live' ? 'live' : 'connecting';
    const rooms = [...this.#connections].map(([name, { url, path, live, status }]): Room => {
      return { key: name, href: new URL(url).origin + path, name, isOwn: false, status, live };
    });
    const unconnectedNodes = [...nodes.values()].filter(
      (node) => !node.self && !this.#connections.has(node.name),
    );
    return [
      {
        key: OWN_KEY,
        // If this page has no query, it already is the page of this node. The link `#` does not load it
        // again.
        href: location.search === '' ? '#' : location.pathname,
        name: location.hostname,
        isOwn: true,
        status: isAway ? 'away' : ownStatus,
        live: ownLive,
      },
      ...rooms.sort(compareRoomNames),
      ...unconnectedNodes.flatMap(linkRoom).sort(compareRoomNames),
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

function compareRoomNames(one: Room, other: Room): number {
  return one.name < other.name ? -1 : 1;
}

/**
 * The room for a node that has only a page. Empty if no URL can be made of the node's addresses and its
 * host.
 */
function linkRoom(record: NodeRecord): readonly Room[] {
  const { name, path } = record;
  const [url] = nodeUrls(record);
  if (url === undefined) return [];
  const href = new URL(url).origin + path;
  return [{ key: name, href, name, isOwn: false, status: 'link', live: undefined }];
}

/** True for another node that has this interface and at least one URL. */
function isControllableNode(record: NodeRecord): boolean {
  return record.api === 'tonearm' && !record.self && nodeUrls(record).length > 0;
}
