// Decides how many connections may be open. Without free file descriptors the main thread would call `accept`
// without end, and answer nobody (docs/development/what-we-learnt.md, "uWebSockets.js").

/**
 * The limit of a request's head in bytes. uWebSockets.js reads this environment variable when it is loaded,
 * so server.ts must import this file before uWebSockets.js. The default of 4 KiB is too little: a browser
 * sends the cookies of all services on the host, whatever their port. uWebSockets.js answers with 431 if a
 * head exceeds the limit, or has more than 97 headers. The number 97 cannot be changed. Each connection
 * stores its incomplete head, so the limit also bounds memory.
 */
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(16 * 1024);

/** Connections for requests, in addition to the streams. */
const CONNECTIONS_BESIDE_STREAMS = 512;
/**
 * Descriptors for everything except HTTP connections: clients of the progress socket, buses, files, threads.
 * A daemon at rest has 31 descriptors.
 */
const OTHER_DESCRIPTORS = 512;
/**
 * This many connections may be open above the limit for a moment, if descriptors are left. A little later,
 * the daemon closes surplus connections. If it closed them at once, their clients would come back at once,
 * and the daemon would use a whole core to accept and close connections.
 */
const SPARE_CONNECTIONS = 1024;
/**
 * One connection in eight is reserved for the node's own programs, such as a reverse proxy. As many are
 * reserved for all other peers together.
 */
const RESERVED_ONE_IN = 8;
/**
 * The bound for one peer is at least this, which is enough for several pages in one browser. A peer may be
 * more than one device: all devices of a house may share one /64 of IPv6.
 */
const PER_PEER_MIN = 32;

export interface ConnectionLimits {
  readonly connections: number;
  /** This many may be open above `connections` for a moment, until surplus connections are closed. */
  readonly spare: number;
  /** This many connections are reserved for loopback, and as many for all other peers together. */
  readonly reservedPerSide: number;
  /** The bound for each peer except loopback: one IPv4 address, or one /64 of IPv6. */
  readonly perPeer: number;
  readonly streams: number;
}

/**
 * `configuredStreams` is `api.sse.maxClients`. `descriptorsMax` is the process's limit of file descriptors,
 * infinite if unknown.
 */
export function connectionLimits(configuredStreams: number, descriptorsMax: number): ConnectionLimits {
  const desiredConnections = configuredStreams + CONNECTIONS_BESIDE_STREAMS;
  const connections = Math.min(desiredConnections, remaining(descriptorsMax, OTHER_DESCRIPTORS));
  const streams = Math.min(configuredStreams, remaining(connections, CONNECTIONS_BESIDE_STREAMS));
  return {
    connections,
    spare: Math.min(SPARE_CONNECTIONS, Math.max(0, descriptorsMax - OTHER_DESCRIPTORS - connections)),
    reservedPerSide: Math.floor(connections / RESERVED_ONE_IN),
    // The bound is half the number of streams, so that one peer cannot have all streams. If this half is
    // less than `PER_PEER_MIN`, one peer may have more.
    perPeer: Math.max(PER_PEER_MIN, Math.floor(streams / 2)),
    streams,
  };
}

/**
 * The part of `whole` that is left after `forOthers`, but at least half of `whole`. For example, if
 * `forOthers` is 512, then 1488 of 2000 are left, and 300 of 600.
 */
function remaining(whole: number, forOthers: number): number {
  return Math.max(whole - forOthers, Math.floor(whole / 2));
}
