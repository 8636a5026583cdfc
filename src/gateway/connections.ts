// Keeps the open connections by peer, and decides which one is closed when there are too many. Pure.

import type { ConnectionLimits } from './connection-limits.js';

/** All programs on this machine count as one peer. */
export const LOOPBACK = 'loopback';

const MAPPED_PREFIX = Buffer.from('00000000000000000000ffff', 'hex');
const IPV6_LOOPBACK = Buffer.from('00000000000000000000000000000001', 'hex');
/** The network part of an IPv6 address: one device may take any number of addresses of its /64 (RFC 8981). */
const NETWORK_BYTES = 8;

/**
 * The name of the peer with an address of 4 or 16 bytes. Each IPv4 address is a peer of its own, also in its
 * IPv6 form. All IPv6 addresses of one /64 are one peer.
 */
export function peerOf(address: ArrayBuffer): string {
  const whole = Buffer.from(address);
  const isMapped = whole.length === 16 && whole.subarray(0, 12).equals(MAPPED_PREFIX);
  const bytes = isMapped ? whole.subarray(12) : whole;
  if (bytes.length === 4) return bytes[0] === 127 ? LOOPBACK : bytes.join('.');
  if (bytes.equals(IPV6_LOOPBACK)) return LOOPBACK;
  const groups = bytes.subarray(0, NETWORK_BYTES).toString('hex').match(/.{4}/g) ?? [];
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}

export interface Connection {
  readonly peer: string;
  /** The call makes a system call. */
  readonly isOpen: () => boolean;
  /** False if it has sent no request since it was opened, or if its first one was a `POST` (server.ts). */
  readonly hasRequested: () => boolean;
  /** True if its last request was answered with a body, and no further request has come (server.ts). */
  readonly isIdle: () => boolean;
}

interface Peer {
  readonly name: string;
  open: number;
}

interface Entry<C> {
  readonly connection: C;
  readonly peer: Peer;
}

export class Connections<C extends Connection> {
  readonly #limits: Omit<ConnectionLimits, 'streams'>;
  /** Oldest first. */
  readonly #open: Entry<C>[] = [];
  readonly #peers = new Map<string, Peer>();

  constructor(limits: Omit<ConnectionLimits, 'streams'>) {
    this.#limits = limits;
  }

  /** True if even the spare connections are too few, so that one connection must be closed at once. */
  get isOverfull(): boolean {
    return this.#open.length > this.#limits.connections + this.#limits.spare;
  }

  arrived(connection: C): void {
    const peer = this.#peers.get(connection.peer) ?? { name: connection.peer, open: 0 };
    this.#peers.set(connection.peer, peer);
    peer.open += 1;
    this.#open.push({ connection, peer });
  }

  /** Removes the connection that has closed. The newest are checked first, because it is usually recent. */
  left(): void {
    this.#remove(this.#open.findLastIndex(({ connection }) => !connection.isOpen()));
  }

  /**
   * Removes and returns the connection that must be closed; undefined if there are not too many. A
   * connection that has sent no request is chosen first, then an idle one. If there are several, it is the
   * oldest one of the peer that has most connections. If all are in use, the newest is chosen.
   */
  surplus(): C | undefined {
    const mustLose = this.#whoMustLose();
    if (mustLose === undefined) return undefined;
    const isSilent = ({ connection }: Entry<C>): boolean => !connection.hasRequested();
    const isIdle = ({ connection }: Entry<C>): boolean => connection.isIdle();
    for (const isUnused of [isSilent, isIdle]) {
      const index = this.#oldestOfLargestPeer((entry) => mustLose(entry.peer) && isUnused(entry));
      if (index >= 0) return this.#remove(index);
    }
    return this.#remove(this.#open.findLastIndex(({ peer }) => mustLose(peer)));
  }

  /** Returns a function that is true for peers with a connection too many; undefined if no peer has one. */
  #whoMustLose(): ((peer: Peer) => boolean) | undefined {
    const { connections, reserved, perPeer } = this.#limits;
    // In the ordinary case there are too few connections to exceed a bound, whoever has them.
    if (this.#open.length <= Math.min(perPeer, connections - reserved)) return undefined;
    const local = this.#peers.get(LOOPBACK)?.open ?? 0;
    const others = this.#open.length - local;
    const isLocal = ({ name }: Peer): boolean => name === LOOPBACK;
    const isAboveBound = (peer: Peer): boolean => !isLocal(peer) && peer.open > perPeer;
    for (const peer of this.#peers.values()) if (isAboveBound(peer)) return isAboveBound;
    // Neither loopback nor the others may take the part that is reserved for the other side.
    if (local > connections - reserved) return isLocal;
    if (others > connections - reserved) return (peer) => !isLocal(peer);
    return this.#open.length > connections ? () => true : undefined;
  }

  /**
   * The index of a connection that can be closed: the oldest of the peer that has most connections; -1 if no
   * connection can be closed.
   */
  #oldestOfLargestPeer(canBeClosed: (entry: Entry<C>) => boolean): number {
    let found = -1;
    let most = 0;
    for (const [index, entry] of this.#open.entries()) {
      if (entry.peer.open <= most || !canBeClosed(entry)) continue;
      found = index;
      most = entry.peer.open;
    }
    return found;
  }

  /** Undefined for the index -1. */
  #remove(index: number): C | undefined {
    const [gone] = index < 0 ? [] : this.#open.splice(index, 1);
    if (gone === undefined) return undefined;
    gone.peer.open -= 1;
    if (gone.peer.open === 0) this.#peers.delete(gone.peer.name);
    return gone.connection;
  }
}
