// How many connections may be open: what the configuration needs, within the process's limit of descriptors; and which one is closed
// when there are too many. Without descriptors the main thread spins in accept and answers nobody (measured). Pure.

/** For requests, on top of the streams. */
const CONNECTIONS_BESIDE_STREAMS = 512;
/** For everything else: the upgrade actor's 256 progress connections, buses, files, threads (31 at rest, measured). */
const OTHER_DESCRIPTORS = 512;
/** May be open above the limit until they, or others, are closed; if descriptors are left. */
const SPARE_CONNECTIONS = 512;
/** One connection in this many is reserved for loopback: the node's own programs, such as a reverse proxy. */
const LOOPBACK_PART = 8;
/** Even with few streams: enough for several pages in one browser. */
const PER_ADDRESS_MIN = 32;

export interface ConnectionLimits {
  readonly connections: number;
  readonly spare: number;
  readonly loopback: number;
  readonly perAddress: number;
  readonly streams: number;
}

/** `streamsWanted` is `api.sse.maxClients`; `descriptorsMax` is the process's limit, infinite if unknown. */
export function connectionLimits(streamsWanted: number, descriptorsMax: number): ConnectionLimits {
  const wanted = streamsWanted + CONNECTIONS_BESIDE_STREAMS;
  const connections = Math.min(wanted, remaining(descriptorsMax, OTHER_DESCRIPTORS));
  const streams = Math.min(streamsWanted, remaining(connections, CONNECTIONS_BESIDE_STREAMS));
  return {
    connections,
    spare: Math.min(SPARE_CONNECTIONS, Math.max(0, descriptorsMax - OTHER_DESCRIPTORS - connections)),
    loopback: Math.floor(connections / LOOPBACK_PART),
    // One address must not be able to take all streams.
    perAddress: Math.max(PER_ADDRESS_MIN, Math.floor(streams / 2)),
    streams,
  };
}

/** The rest after the others' share, which is at most half. */
function remaining(whole: number, forOthers: number): number {
  return Math.max(whole - forOthers, Math.floor(whole / 2));
}

/** All programs on this machine count as one peer. */
export const LOOPBACK = 'loopback';

const MAPPED_PREFIX = Buffer.from('00000000000000000000ffff', 'hex');
const IPV6_LOOPBACK = Buffer.from('00000000000000000000000000000001', 'hex');

/** `address` has 4 or 16 bytes. An IPv4 address has the same name in its IPv6 form. */
export function addressKey(address: ArrayBuffer): string {
  const whole = Buffer.from(address);
  const isMapped = whole.length === 16 && whole.subarray(0, 12).equals(MAPPED_PREFIX);
  const bytes = isMapped ? whole.subarray(12) : whole;
  if (bytes.length === 4) return bytes[0] === 127 ? LOOPBACK : bytes.join('.');
  return bytes.equals(IPV6_LOOPBACK) ? LOOPBACK : bytes.toString('hex');
}

export interface Connection {
  readonly address: string;
  /** Costs a system call. */
  readonly isOpen: () => boolean;
  /** Nothing is in progress on it, so it may be closed. */
  readonly isSilent: () => boolean;
}

interface Peer {
  readonly address: string;
  /** How many of its connections are reserved for it. */
  readonly reserved: number;
  /** How many connections it may have, even if there is room for more. */
  readonly bound: number;
  open: number;
}

/** All open connections, and the choice of one to close when there are too many. */
export class Connections<C extends Connection> {
  readonly #limits: Omit<ConnectionLimits, 'streams'>;
  /** Oldest first. */
  readonly #open: { readonly connection: C; readonly peer: Peer }[] = [];
  readonly #peers = new Map<string, Peer>();

  constructor(limits: Omit<ConnectionLimits, 'streams'>) {
    this.#limits = limits;
  }

  get isOverfull(): boolean {
    return this.#open.length > this.#limits.connections + this.#limits.spare;
  }

  arrived(connection: C): void {
    const { loopback, perAddress } = this.#limits;
    const { address } = connection;
    const peer = this.#peers.get(address) ?? {
      address,
      ...(address === LOOPBACK
        ? { reserved: loopback, bound: Number.POSITIVE_INFINITY }
        : { reserved: 0, bound: perAddress }),
      open: 0,
    };
    this.#peers.set(address, peer);
    peer.open += 1;
    this.#open.push({ connection, peer });
  }

  /** Removes the connection that has closed; usually a recent one. */
  left(): void {
    this.#forget(this.#open.findLastIndex(({ connection }) => !connection.isOpen()));
  }

  /**
   * Removes and returns the connection that must be closed; undefined if there are not too many. It is the oldest silent one of the
   * peer that has most above its reserve; if no such peer has a silent one, the newest.
   */
  giver(): C | undefined {
    const { connections, loopback } = this.#limits;
    const shared = this.#open.length - Math.min(this.#peers.get(LOOPBACK)?.open ?? 0, loopback);
    const isFull = shared > connections - loopback;
    const excessOf = ({ open, reserved, bound }: Peer): number =>
      isFull || open > bound ? open - reserved : 0;
    let [giver, most] = [-1, 0];
    this.#open.forEach(({ connection, peer }, at) => {
      const excess = excessOf(peer);
      if (excess > most && connection.isSilent()) [giver, most] = [at, excess];
    });
    return this.#forget(giver >= 0 ? giver : this.#open.findLastIndex(({ peer }) => excessOf(peer) > 0));
  }

  #forget(at: number): C | undefined {
    const [gone] = at < 0 ? [] : this.#open.splice(at, 1);
    if (gone === undefined) return undefined;
    gone.peer.open -= 1;
    if (gone.peer.open === 0) this.#peers.delete(gone.peer.address);
    return gone.connection;
  }
}
