// Decides which connection is closed when there are too many. Pure.

import type { ConnectionLimits } from './connection-limits.js';

/** All programs that connect by loopback count as one peer. */
export const LOOPBACK_PEER = 'loopback';

/**
 * An IPv4 address in IPv6 form, such as `::ffff:192.0.2.1`, begins with these bytes (RFC 4291, section
 * 2.5.5.2).
 */
const MAPPED_PREFIX = Buffer.from('00000000000000000000ffff', 'hex');
const IPV6_LOOPBACK = Buffer.from('00000000000000000000000000000001', 'hex');
/** The length of an IPv6 address's network part. One device may use any address of its /64 (RFC 8981). */
const NETWORK_BYTES = 8;

/**
 * The name of the peer with an address of 4 or 16 bytes. All loopback addresses together are one peer. Each
 * other IPv4 address is a peer of its own, also in its IPv6 form. All other IPv6 addresses of one /64 are one
 * peer, such as `2001:db8:0:1::/64`.
 */
export function peerOf(address: ArrayBuffer): string {
  const allBytes = Buffer.from(address);
  const isMapped = allBytes.length === 16 && allBytes.subarray(0, 12).equals(MAPPED_PREFIX);
  const bytes = isMapped ? allBytes.subarray(12) : allBytes;
  if (bytes.length === 4) return bytes[0] === 127 ? LOOPBACK_PEER : bytes.join('.');
  if (bytes.equals(IPV6_LOOPBACK)) return LOOPBACK_PEER;
  const groups = bytes.subarray(0, NETWORK_BYTES).toString('hex').match(/.{4}/g) ?? [];
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}

export interface BoundedConnection {
  readonly peer: string;
  /** Each call costs a system call. */
  readonly isOpen: () => boolean;
  /**
   * True if a request has come. If the first request is a `POST`, it cannot be noticed (server.ts says
   * why), and the result is false as long as the connection exists.
   */
  readonly isKnownToHaveRequested: () => boolean;
  /**
   * True if the last request was answered, and no further request has come. An answer without a body cannot
   * be noticed (server.ts says why), so the result is false after it.
   */
  readonly isIdle: () => boolean;
}

interface Peer {
  readonly name: string;
  openCount: number;
}

interface OpenConnection<C> {
  readonly connection: C;
  readonly peer: Peer;
}

export class Connections<C extends BoundedConnection> {
  readonly #limits: Omit<ConnectionLimits, 'streams'>;
  /** Oldest first. */
  readonly #open: OpenConnection<C>[] = [];
  readonly #peers = new Map<string, Peer>();

  constructor(limits: Omit<ConnectionLimits, 'streams'>) {
    this.#limits = limits;
  }

  /** True if even the spare connections are too few, so that one connection must be closed at once. */
  get isOverfull(): boolean {
    return this.#open.length > this.#limits.connections + this.#limits.spare;
  }

  add(connection: C): void {
    const peer = this.#peers.get(connection.peer) ?? { name: connection.peer, openCount: 0 };
    this.#peers.set(connection.peer, peer);
    peer.openCount += 1;
    this.#open.push({ connection, peer });
  }

  /**
   * To be called once for each connection that has closed, to remove it. Each check costs a system call, and
   * a connection that closes is usually recent, so the newest ones are checked first.
   */
  removeClosed(): void {
    this.#remove(this.#open.findLastIndex(({ connection }) => !connection.isOpen()));
  }

  /**
   * Removes and returns the connection that must be closed; undefined if there are not too many. Only
   * connections of peers that must lose one are considered:
   * - If some of them have sent no request, these are the candidates.
   * - Else, if some of them are idle, these are the candidates.
   * - Else all are in use, and the newest one is chosen.
   *
   * If there are several candidates, the oldest one of the peer with most connections is chosen.
   */
  takeSurplus(): C | undefined {
    const mustLoseOne = this.#conditionForLosingOne();
    if (mustLoseOne === undefined) return undefined;
    const isSilent = ({ connection }: OpenConnection<C>): boolean => !connection.isKnownToHaveRequested();
    const isIdle = ({ connection }: OpenConnection<C>): boolean => connection.isIdle();
    for (const isUnused of [isSilent, isIdle]) {
      const index = this.#oldestOfLargestPeer((open) => mustLoseOne(open.peer) && isUnused(open));
      if (index >= 0) return this.#remove(index);
    }
    return this.#remove(this.#open.findLastIndex(({ peer }) => mustLoseOne(peer)));
  }

  /** The condition by which a peer must lose a connection; undefined if no peer has to. */
  #conditionForLosingOne(): ((peer: Peer) => boolean) | undefined {
    const { connections, reservedPerSide, perPeer } = this.#limits;
    // There are two sides: loopback, and all other peers. No side may use the connections that are reserved
    // for the other side.
    const maxPerSide = connections - reservedPerSide;
    // This is the ordinary case: all connections together are within each bound, so each peer is, too.
    if (this.#open.length <= Math.min(perPeer, maxPerSide)) return undefined;
    const localCount = this.#peers.get(LOOPBACK_PEER)?.openCount ?? 0;
    const otherCount = this.#open.length - localCount;
    const isLocal = ({ name }: Peer): boolean => name === LOOPBACK_PEER;
    const isAboveBound = (peer: Peer): boolean => !isLocal(peer) && peer.openCount > perPeer;
    if ([...this.#peers.values()].some(isAboveBound)) return isAboveBound;
    if (localCount > maxPerSide) return isLocal;
    if (otherCount > maxPerSide) return (peer) => !isLocal(peer);
    return this.#open.length > connections ? () => true : undefined;
  }

  /**
   * Considers only connections that can be closed, and the peers that have them. Returns the index of the
   * oldest connection of the peer with most connections, or -1 if no connection can be closed.
   */
  #oldestOfLargestPeer(canBeClosed: (open: OpenConnection<C>) => boolean): number {
    let foundIndex = -1;
    let highestCount = 0;
    for (const [index, open] of this.#open.entries()) {
      // A later connection of the same peer has an equal count, so the peer's oldest one stays chosen.
      if (open.peer.openCount <= highestCount || !canBeClosed(open)) continue;
      foundIndex = index;
      highestCount = open.peer.openCount;
    }
    return foundIndex;
  }

  /** Undefined for the index -1. */
  #remove(index: number): C | undefined {
    const [gone] = index < 0 ? [] : this.#open.splice(index, 1);
    if (gone === undefined) return undefined;
    gone.peer.openCount -= 1;
    if (gone.peer.openCount === 0) this.#peers.delete(gone.peer.name);
    return gone.connection;
  }
}
