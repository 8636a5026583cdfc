// A broker that acknowledges everything, and sends commands and messages of others without end, as fast as
// they are taken: no real broker does so. Its packets are those of the package below `mqtt`.

import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer, type Socket } from 'node:net';

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

/** `messages` are topics and payloads, sent round and round once `flood` is called. */
export async function startFloodingBroker(messages: readonly (readonly [topic: string, payload: string])[]) {
  const frames = messages.map(([topic, payload]) =>
    packets.generate({ cmd: 'publish', topic, payload, qos: 0, retain: false, dup: false }, MQTT_5),
  );
  const once = Buffer.concat(frames);
  const times = Math.ceil(GUST_BYTES / once.length);
  const gust = Buffer.concat(Array.from({ length: times }, () => once));
  const sockets = new Set<Socket>();
  let floods = false;
  const pour = (socket: Socket): void => {
    while (floods && !socket.destroyed) {
      broker.sent += times * frames.length;
      if (socket.write(gust)) continue;
      socket.once('drain', () => pour(socket));
      return;
    }
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    const parser = packets.parser(MQTT_5);
    parser.on('packet', (packet: Packet) => {
      const answer = answerTo(packet);
      if (answer !== undefined) socket.write(packets.generate(answer, MQTT_5));
      // One that has come back, as it does when its own messages are acknowledged too late behind all of
      // these.
      if (floods && packet.subscriptions?.some(({ topic }) => topic.includes('/set'))) pour(socket);
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => parser.parse(chunk));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const broker = {
    port,
    url: `mqtt://127.0.0.1:${port}`,
    /** Messages that were handed to the kernel. */
    sent: 0,
    flood: () => {
      floods = true;
      for (const socket of sockets) pour(socket);
    },
    calm: () => {
      floods = false;
    },
    /** Ends all connections. */
    hangUp: () => {
      for (const socket of sockets) socket.destroy();
    },
    stop: async () => {
      broker.calm();
      broker.hangUp();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return broker;
}

function answerTo({ cmd, qos, messageId, subscriptions = [], unsubscriptions = [] }: Packet) {
  const answers: Readonly<Record<string, object>> = {
    connect: { cmd: 'connack', reasonCode: 0, sessionPresent: false },
    subscribe: { cmd: 'suback', messageId, granted: subscriptions.map(() => 0) },
    unsubscribe: { cmd: 'unsuback', messageId, granted: unsubscriptions.map(() => 0) },
    pingreq: { cmd: 'pingresp' },
    ...(qos > 0 && { publish: { cmd: 'puback', messageId, reasonCode: 0 } }),
  };
  return answers[cmd];
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
