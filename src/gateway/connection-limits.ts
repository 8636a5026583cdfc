// How many connections there may be: as many as the configuration has use for, and no more than the process can hold. Out of
// descriptors the main thread would spin in accept and answer nobody (measured). And which one gives way. Pure.

/** For requests, when every stream that is allowed is open. */
const CONNECTIONS_BESIDE_STREAMS = 512;
/** What all else may hold open: the upgrade actor's 256 progress connections, buses, files, threads (31 at rest, measured). */
const OTHER_DESCRIPTORS = 512;
/** Open beyond all bounds until they, or others, are closed for them, where descriptors are left. */
const SPARE_CONNECTIONS = 512;
/** Kept free for the node's own programs, a reverse proxy among them: one connection in so many. */
const LOOPBACK_PART = 8;
/** However few streams there may be: several pages in one browser. */
const PER_ADDRESS_MIN = 32;

export interface ConnectionLimits {
  readonly connections: number;
  /** How many more may be open for a moment. */
  readonly spare: number;
  /** Of `connections`, how many only loopback may have. */
  readonly loopback: number;
  /** What one address may have, but for loopback. */
  readonly perAddress: number;
  readonly streams: number;
}

/** `streamsWanted` is `api.sse.maxClients`; `descriptorsMax` what the process may hold open, infinite where nobody says. */
export function connectionLimits(streamsWanted: number, descriptorsMax: number): ConnectionLimits {
  const wanted = streamsWanted + CONNECTIONS_BESIDE_STREAMS;
  const connections = Math.min(wanted, remaining(descriptorsMax, OTHER_DESCRIPTORS));
  const streams = Math.min(streamsWanted, remaining(connections, CONNECTIONS_BESIDE_STREAMS));
  return {
    connections,
    spare: Math.min(SPARE_CONNECTIONS, Math.max(0, descriptorsMax - OTHER_DESCRIPTORS - connections)),
    loopback: Math.floor(connections / LOOPBACK_PART),
    // So that nobody alone has all streams.
    perAddress: Math.max(PER_ADDRESS_MIN, Math.floor(streams / 2)),
    streams,
  };
}

/** What is left when others have their share, which is at most half. */
function remaining(whole: number, forOthers: number): number {
  return Math.max(whole - forOthers, Math.floor(whole / 2));
}

/** All programs of this machine are one. */
export const LOOPBACK = 'loopback';

const MAPPED_PREFIX = Buffer.from('00000000000000000000ffff', 'hex');
const IPV6_LOOPBACK = Buffer.from('00000000000000000000000000000001', 'hex');

/** From its 4 or 16 bytes; an IPv4 address is the same when it is written as an IPv6 one. */
export function nameOf(address: ArrayBuffer): string {
  const whole = Buffer.from(address);
  const isMapped = whole.length === 16 && whole.subarray(0, 12).equals(MAPPED_PREFIX);
  const bytes = isMapped ? whole.subarray(12) : whole;
  if (bytes.length === 4) return bytes[0] === 127 ? LOOPBACK : bytes.join('.');
  return bytes.equals(IPV6_LOOPBACK) ? LOOPBACK : bytes.toString('hex');
}

/** What is known of a connection. */
export interface Connection {
  readonly address: string;
  /** Costs a system call. */
  readonly isOpen: () => boolean;
  /** Has nothing under way, and may be closed. */
  readonly isSilent: () => boolean;
}

interface Peer {
  readonly address: string;
  /** How many of its connections nobody else could have. */
  readonly reserved: number;
  /** How many it may have, also where there is room for more. */
  readonly bound: number;
  open: number;
}

/** Who is there, and who gives way when there are too many. */
export class Connections<C extends Connection> {
  readonly #limits: Omit<ConnectionLimits, 'streams'>;
  /** In the order in which they came. */
  readonly #open: { readonly connection: C; readonly peer: Peer }[] = [];
  readonly #peers = new Map<string, Peer>();

  constructor(limits: Omit<ConnectionLimits, 'streams'>) {
    this.#limits = limits;
  }

  /** More than may be open for even a moment. */
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

  /** Forgets the one that is not open any more: mostly one that came last. */
  left(): void {
    this.#forget(this.#open.findLastIndex(({ connection }) => !connection.isOpen()));
  }

  /**
   * Which one must be closed, and is forgotten already; undefined: there are not too many. Whoever has most gives way, with the one that
   * has been silent longest; where nobody is silent, whoever came last.
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
