// A broker that acknowledges everything, and sends commands and messages of others without end, as fast as they are taken. Its packets are
// made by hand (MQTT 5): no real broker does so.

import { createServer, type Server, type Socket } from 'node:net';

/** Each packet by itself is small; so many are written at a time. */
const GUST_BYTES = 64 * 1024;

type Packet = { readonly type: number; readonly flags: number; readonly body: Buffer };

const CONNECT = 1;
const PUBLISH = 3;
const SUBSCRIBE = 8;
const UNSUBSCRIBE = 10;
const PINGREQ = 12;

const CONNACK = Buffer.from([0x20, 3, 0, 0, 0]);
const PINGRESP = Buffer.from([0xd0, 0]);
const acknowledgement = (first: number, id: Buffer, reasons: number): Buffer =>
  Buffer.concat([Buffer.from([first, 3 + reasons]), id, Buffer.alloc(1 + reasons)]);

/** At QoS 0, not retained; topic and payload together have less than 16 kB. */
function message(topic: string, payload: string): Buffer {
  const [name, text] = [Buffer.from(topic), Buffer.from(payload)];
  const size = 2 + name.length + 1 + text.length;
  const head = Buffer.from([0x30, (size & 0x7f) | 0x80, size >> 7, name.length >> 8, name.length & 0xff]);
  return Buffer.concat([head, name, Buffer.of(0), text]);
}

/** The first whole packet of `bytes`, and how long it is. */
function packetIn(bytes: Buffer): { packet: Packet; length: number } | undefined {
  let size = 0;
  for (let at = 1; at < 5; at += 1) {
    const byte = bytes[at];
    if (byte === undefined) return undefined;
    size |= (byte & 0x7f) << (7 * (at - 1));
    if (byte >= 0x80) continue;
    const length = at + 1 + size;
    if (bytes.length < length) return undefined;
    const [first = 0] = bytes;
    return { packet: { type: first >> 4, flags: first & 15, body: bytes.subarray(at + 1, length) }, length };
  }
  throw new Error('no packet');
}

/** How many filters a subscription, or its end, names behind its identifier and its (empty) properties. */
function filtersIn(body: Buffer, more: number): number {
  let count = 0;
  for (let at = 3; at < body.length; at += 2 + body.readUInt16BE(at) + more) count += 1;
  return count;
}

export class FloodingBroker {
  readonly port: number;
  /** Messages that were handed to the kernel. */
  sent = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #gust: Buffer;
  readonly #inGust: number;
  #floods = false;

  private constructor(server: Server, port: number, messages: readonly (readonly [string, string])[]) {
    this.#server = server;
    this.port = port;
    const packets = messages.map(([topic, payload]) => message(topic, payload));
    const once = Buffer.concat(packets);
    const times = Math.ceil(GUST_BYTES / once.length);
    this.#gust = Buffer.concat(Array.from({ length: times }, () => once));
    this.#inGust = times * packets.length;
    server.on('connection', (socket) => this.#serve(socket));
  }

  /** `messages` are topics and payloads, sent round and round once `flood` is called. */
  static async start(
    messages: readonly (readonly [topic: string, payload: string])[],
  ): Promise<FloodingBroker> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    return new FloodingBroker(server, address.port, messages);
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`;
  }

  flood(): void {
    this.#floods = true;
    for (const socket of this.#sockets) this.#pour(socket);
  }

  calm(): void {
    this.#floods = false;
  }

  /** Ends all connections. */
  hangUp(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.#floods = false;
    this.hangUp();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    let rest = Buffer.alloc(0);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let found = packetIn(rest); found !== undefined; found = packetIn(rest)) {
        rest = rest.subarray(found.length);
        this.#answer(socket, found.packet);
      }
    });
  }

  #answer(socket: Socket, { type, flags, body }: Packet): void {
    if (type === CONNECT) socket.write(CONNACK);
    if (type === SUBSCRIBE) {
      socket.write(acknowledgement(0x90, body.subarray(0, 2), filtersIn(body, 1)));
      // One that has come back, as it does when its own messages are acknowledged too late behind all of these.
      if (this.#floods && body.includes('/set')) this.#pour(socket);
    }
    if (type === UNSUBSCRIBE) socket.write(acknowledgement(0xb0, body.subarray(0, 2), filtersIn(body, 0)));
    if (type === PINGREQ) socket.write(PINGRESP);
    if (type !== PUBLISH || (flags & 6) === 0) return;
    const id = 2 + body.readUInt16BE(0);
    socket.write(acknowledgement(0x40, body.subarray(id, id + 2), 1));
  }

  #pour(socket: Socket): void {
    while (this.#floods && !socket.destroyed) {
      this.sent += this.#inGust;
      if (socket.write(this.#gust)) continue;
      socket.once('drain', () => this.#pour(socket));
      return;
    }
  }
}

/** Commands of every kind to more targets than there are, and what is none, at the branch `topic`. */
export function commandsOfAllKinds(topic: string): readonly (readonly [topic: string, payload: string])[] {
  return Array.from(
    { length: 500 },
    (_, i) =>
      [
        [`${topic}/audio/server/set`, '{"delta":0.01}'],
        [`${topic}/audio/outputs/living/set`, `{"volume":${(i % 90) / 100}}`],
        [`${topic}/services/user/unit-${i}.service/set`, 'restart'],
        [`${topic}/players/player-${i}/set`, 'play'],
        [`${topic}/power/set`, 'reboot'],
        [`${topic}/status`, 'offline'],
        [`${topic}/audio/server/mute/set`, 'true'],
        [`elsewhere/${i}`, 'x'],
      ] as const,
  ).flat();
}
