// How many connections there may be: as many as the configuration has use for, and no more than the process can hold. Out of
// descriptors the main thread would spin in accept and answer nobody (measured). And who gets them. Pure.

/** For requests, when every stream that is allowed is open. */
const CONNECTIONS_BESIDE_STREAMS = 512;
/** What all else may hold open: the upgrade actor's 2048 progress connections, buses, files, threads (31 at rest, measured). */
const OTHER_DESCRIPTORS = 2304;
/** Beyond all others, until somebody gives way for them, where descriptors are left. */
const WAITING_CONNECTIONS = 512;

export interface ConnectionLimits {
  readonly connections: number;
  readonly waiting: number;
  readonly streams: number;
}

/** `streamsWanted` is `api.sse.maxClients`; `descriptorsMax` what the process may hold open, infinite where nobody says. */
export function connectionLimits(streamsWanted: number, descriptorsMax: number): ConnectionLimits {
  const wanted = streamsWanted + CONNECTIONS_BESIDE_STREAMS;
  const connections = Math.min(wanted, remaining(descriptorsMax, OTHER_DESCRIPTORS));
  const left = Math.max(0, descriptorsMax - OTHER_DESCRIPTORS - connections);
  return {
    connections,
    waiting: Math.min(WAITING_CONNECTIONS, left),
    streams: Math.min(streamsWanted, remaining(connections, CONNECTIONS_BESIDE_STREAMS)),
  };
}

/** What is left when others have their share, which is at most half. */
function remaining(whole: number, forOthers: number): number {
  return Math.max(whole - forOthers, Math.floor(whole / 2));
}

/** Kept free of other peers for the node's own programs, a reverse proxy among them: one connection in so many. */
const LOOPBACK_PART = 8;
/** What one peer may have of the rest; the last quarter is always for others. */
const PEER_PART = 0.75;

/** All programs of this machine are one peer. */
export const LOOPBACK = 'loopback';

/**
 * Who counts as one peer, from an address of 4 or 16 bytes: an IPv4 address, also when it is written as an IPv6 one, and a whole
 * /64 of IPv6, in which a machine has as many addresses as it likes. All link-local ones lie in one /64: there each counts.
 */
export function peerOf(address: ArrayBuffer): string {
  const whole = Buffer.from(address);
  const isMapped = whole.length === 16 && whole.subarray(0, 12).equals(MAPPED_PREFIX);
  const bytes = isMapped ? whole.subarray(12) : whole;
  if (bytes.length === 4) return bytes[0] === 127 ? LOOPBACK : bytes.join('.');
  if (bytes.equals(IPV6_LOOPBACK)) return LOOPBACK;
  const isLinkLocal = bytes[0] === 0xfe && ((bytes[1] ?? 0) & 0xc0) === 0x80;
  return bytes.toString('hex', 0, isLinkLocal ? 16 : 8);
}

const MAPPED_PREFIX = Buffer.from('00000000000000000000ffff', 'hex');
const IPV6_LOOPBACK = Buffer.from('00000000000000000000000000000001', 'hex');

interface Peer {
  readonly name: string;
  /** How many of its connections nobody else could have. */
  readonly reserved: number;
  open: number;
}

interface HeldConnection<C> {
  readonly connection: C;
  readonly peerName: string;
  /** Undefined while it waits. */
  peer: Peer | undefined;
}

/**
 * Shares the connections among the peers: whoever comes waits until it is let in, and when there are too many, whoever has most gives
 * way with the one that has been silent longest. `C` is a connection.
 */
export class ConnectionShares<C> {
  readonly #max: number;
  readonly #reserved: number;
  readonly #isSilent: (connection: C) => boolean;
  readonly #onFull: (most: string) => void;
  readonly #peers = new Map<string, Peer>();
  /** In the order in which they came: those who wait are the last. */
  readonly #held: HeldConnection<C>[] = [];
  /** How many of `#held` have been let in. */
  #admitted = 0;
  /** Of `#held`, where the last one left: when many leave they leave in order, and are found without a search. */
  #lastLeft = 0;
  /** Connections beyond what is reserved for their peers. */
  #shared = 0;
  #isFull = false;

  /**
   * `isSilent`: has nothing under way, and may be closed. `onFull` is called once in a spell of too many, which lasts until half
   * of them have gone, with the peer that has most.
   */
  constructor(max: number, isSilent: (connection: C) => boolean, onFull: (most: string) => void) {
    this.#max = max;
    this.#reserved = Math.floor(max / LOOPBACK_PART);
    this.#isSilent = isSilent;
    this.#onFull = onFull;
  }

  /** There have been too many, and half of them have not gone since. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** How many have come and have not been let in. */
  get waiting(): number {
    return this.#held.length - this.#admitted;
  }

  /** It waits, behind all others. */
  arrived(connection: C, peerName: string): void {
    this.#held.push({ connection, peerName, peer: undefined });
  }

  /**
   * Lets in who has waited longest. What must be closed for it, which is forgotten already: nothing, another one that has been let in,
   * or itself.
   */
  admit(): C | undefined {
    const one = this.#held[this.#admitted];
    if (one === undefined) return undefined;
    const peer = this.#peers.get(one.peerName) ?? {
      name: one.peerName,
      reserved: one.peerName === LOOPBACK ? this.#reserved : 0,
      open: 0,
    };
    this.#peers.set(peer.name, peer);
    one.peer = peer;
    this.#admitted += 1;
    peer.open += 1;
    if (peer.open > peer.reserved) this.#shared += 1;
    const isTooMany = peer.open > peer.reserved && this.#shared > this.#max - this.#reserved;
    const hasTooMany = peer.name !== LOOPBACK && peer.open > this.#peerMax;
    if (!isTooMany && !hasTooMany) return undefined;
    this.#tellFull();
    const index = this.#giving(peer);
    const giver = this.#held[index]?.connection;
    this.#remove(index);
    return giver;
  }

  /** Forgets the one that `isIt`. */
  left(isIt: (connection: C) => boolean): void {
    const held = this.#held;
    const found = (index: number): boolean => {
      const one = held[index];
      return one !== undefined && isIt(one.connection);
    };
    for (let distance = 0; distance <= held.length; distance += 1) {
      for (const index of [this.#lastLeft + distance, this.#lastLeft - 1 - distance]) {
        if (!found(index)) continue;
        this.#remove(index);
        return;
      }
    }
  }

  get #peerMax(): number {
    return Math.max(1, Math.floor((this.#max - this.#reserved) * PEER_PART));
  }

  /**
   * Whose share is largest gives way, with its oldest silent one; without any, the newest of all does, which has just come. Whoever has
   * more than one peer may has the largest.
   */
  #giving(newcomer: Peer): number {
    const last = this.#admitted - 1;
    let [best, bestShare] = [last, -1];
    for (let index = 0; index < last; index += 1) {
      const one = this.#held[index];
      if (one?.peer === undefined) continue;
      const share = shareOf(one.peer);
      if (share <= bestShare || share < shareOf(newcomer)) continue;
      if (this.#isSilent(one.connection)) [best, bestShare] = [index, share];
    }
    return best;
  }

  #remove(index: number): void {
    const [gone] = this.#held.splice(index, 1);
    if (gone === undefined) return;
    this.#lastLeft = index;
    const { peer } = gone;
    if (peer !== undefined) this.#takeFrom(peer);
    if (this.#held.length <= this.#max / 2) this.#isFull = false;
  }

  #takeFrom(peer: Peer): void {
    this.#admitted -= 1;
    if (peer.open > peer.reserved) this.#shared -= 1;
    peer.open -= 1;
    if (peer.open === 0) this.#peers.delete(peer.name);
  }

  #tellFull(): void {
    if (this.#isFull) return;
    this.#isFull = true;
    const most = [...this.#peers.values()].reduce((one, other) => (other.open > one.open ? other : one));
    this.#onFull(most.name);
  }
}

function shareOf({ open, reserved }: Peer): number {
  return Math.max(0, open - reserved);
}
