// How many connections may be open, and whose: what the configuration needs, within the process's limit of descriptors. Those beyond are
// refused (server.ts); without descriptors the main thread would spin in accept and answer nobody (measured).
// Must be imported before uWebSockets.js, which reads the limit of a head from the environment when it is loaded, and nowhere else.

/**
 * The limit of a request's head in bytes; above it uWebSockets.js answers 431. Its default of 4 KiB is less than a browser may send:
 * it sends the cookies of all services on the host, whatever their port. Each connection stores its incomplete head. More than
 * 97 headers are 431 however small they are: that number is built in (measured).
 */
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(16 * 1024);

/** For requests, on top of the streams. */
const CONNECTIONS_BESIDE_STREAMS = 512;
/** For everything else: progress connections, buses, files, threads (31 at rest, measured). */
const OTHER_DESCRIPTORS = 512;
/** One connection in this many is reserved for loopback, the node's own programs, such as a reverse proxy; and as many for all others. */
const RESERVED_PART = 8;
/** Even with few streams: enough for several pages in one browser. */
const PER_ADDRESS_MIN = 32;

export interface ConnectionLimits {
  readonly connections: number;
  /** For loopback, and for the others. */
  readonly reserved: number;
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
    reserved: Math.floor(connections / RESERVED_PART),
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

interface OpenConnection {
  readonly address: string;
  /** Costs a system call. */
  readonly isOpen: () => boolean;
}

/** The open connections, by the addresses of their other ends. */
export class Connections {
  readonly #limits: ConnectionLimits;
  /** Oldest first. */
  readonly #open: OpenConnection[] = [];
  readonly #counts = new Map<string, number>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** False if there are too many already. Neither loopback nor the others can take the part that is reserved for the other side. */
  admits(address: string): boolean {
    const { connections, reserved, perAddress } = this.#limits;
    const fromLoopback = this.#count(LOOPBACK);
    const isLocal = address === LOOPBACK;
    const sameSide = isLocal ? fromLoopback : this.#open.length - fromLoopback;
    const isBelowBound = isLocal || this.#count(address) < perAddress;
    return isBelowBound && this.#open.length < connections && sameSide < connections - reserved;
  }

  arrived(connection: OpenConnection): void {
    this.#open.push(connection);
    this.#counts.set(connection.address, this.#count(connection.address) + 1);
  }

  /** Removes the connection that has closed; usually a recent one. */
  left(): void {
    const at = this.#open.findLastIndex(({ isOpen }) => !isOpen());
    const [gone] = at < 0 ? [] : this.#open.splice(at, 1);
    if (gone === undefined) return;
    const rest = this.#count(gone.address) - 1;
    if (rest > 0) this.#counts.set(gone.address, rest);
    else this.#counts.delete(gone.address);
  }

  #count(address: string): number {
    return this.#counts.get(address) ?? 0;
  }
}
