// A broker that acknowledges everything, and sends commands and messages of others without end, as fast as they are taken: no real broker does
// so. Its packets are those of the package below `mqtt`.

import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { createServer, type Server, type Socket } from 'node:net';

/** Each packet by itself is small; so many are written at a time. */
const GUST_BYTES = 64 * 1024;
const MQTT_5 = { protocolVersion: 5 };

/** A packet, as far as it is looked at. */
interface Packet {
  readonly cmd: string;
  readonly qos: number;
  readonly messageId?: number;
  readonly subscriptions?: readonly { readonly topic: string }[];
  readonly unsubscriptions?: readonly string[];
}

interface Packets {
  generate(packet: object, options: object): Buffer;
  parser(options: object): EventEmitter & { parse(bytes: Buffer): void };
}
const packets = createRequire(createRequire(import.meta.url).resolve('mqtt'))('mqtt-packet') as Packets;

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
    const said = messages.map(([topic, payload]) =>
      packets.generate({ cmd: 'publish', topic, payload, qos: 0, retain: false, dup: false }, MQTT_5),
    );
    const once = Buffer.concat(said);
    const times = Math.ceil(GUST_BYTES / once.length);
    this.#gust = Buffer.concat(Array.from({ length: times }, () => once));
    this.#inGust = times * said.length;
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
    const parser = packets.parser(MQTT_5);
    parser.on('packet', (packet: Packet) => this.#answer(socket, packet));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('data', (chunk) => parser.parse(chunk));
  }

  #answer(socket: Socket, { cmd, qos, messageId, subscriptions = [], unsubscriptions = [] }: Packet): void {
    const answers: Readonly<Record<string, object>> = {
      connect: { cmd: 'connack', reasonCode: 0, sessionPresent: false },
      subscribe: { cmd: 'suback', messageId, granted: subscriptions.map(() => 0) },
      unsubscribe: { cmd: 'unsuback', messageId, granted: unsubscriptions.map(() => 0) },
      pingreq: { cmd: 'pingresp' },
      ...(qos > 0 && { publish: { cmd: 'puback', messageId, reasonCode: 0 } }),
    };
    const answer = answers[cmd];
    if (answer !== undefined) socket.write(packets.generate(answer, MQTT_5));
    // One that has come back, as it does when its own messages are acknowledged too late behind all of these.
    if (this.#floods && subscriptions.some(({ topic }) => topic.includes('/set'))) this.#pour(socket);
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
