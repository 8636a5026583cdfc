// A broker that acknowledges everything. It sends commands and other messages without end, as fast as the
// client reads them. No real broker does this. The package `mqtt-packet`, a dependency of `mqtt`, makes the
// packets of this broker.

import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** Packets are small, so the broker writes at least this many bytes of packets together. */
const WRITE_BYTES = 64 * 1024;
const COMMANDS_OF_EACH_KIND = 500;
/** This is more than the number of requests that may wait: 256 (`WAITING_MAX` in command-queues.ts). */
const LARGE_COMMANDS = 300;
/** The bridge's thread has 64 MB of memory, in which 256 waiting commands of this length would not fit. */
const LARGE_PAYLOAD_CHARS = 300_000;
/** This is below both limits: a body may have 65 536 bytes, and a topic 65 535. */
const LONG_BYTES = 60_000;
/** A quote, which JSON escapes, and a character of four bytes. */
const QUOTE_AND_NOTE = '"🎵';
const LONG_NAME = QUOTE_AND_NOTE.repeat(LONG_BYTES / Buffer.byteLength(QUOTE_AND_NOTE));
const MQTT_5 = { protocolVersion: 5 };

/** A packet, with only those fields that this broker reads. */
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
const requireAsMqtt = createRequire(createRequire(import.meta.url).resolve('mqtt'));
const packets = requireAsMqtt('mqtt-packet') as Packets;

type FloodMessage = readonly [topic: string, payload: string];

/**
 * From the call of `flood` until the call of `calm`, the broker sends `messages` to each client again and
 * again. `limits` are properties of the broker's CONNACK, such as the time between pings (`serverKeepAlive`).
 */
export async function startFloodingBroker(messages: readonly FloodMessage[], limits: object = {}) {
  const frames = messages.map(([topic, payload]) =>
    packets.generate({ cmd: 'publish', topic, payload, qos: 0, retain: false, dup: false }, MQTT_5),
  );
  const allMessages = Buffer.concat(frames);
  const repetitions = Math.ceil(WRITE_BYTES / allMessages.length);
  const repeatedMessages = Buffer.concat(Array.from({ length: repetitions }, () => allMessages));
  const sockets = new Set<Socket>();
  let isFlooding = false;
  const sendMessages = (socket: Socket): void => {
    while (isFlooding && !socket.destroyed) {
      broker.sent += repetitions * frames.length;
      if (socket.write(repeatedMessages)) continue;
      socket.once('drain', () => sendMessages(socket));
      return;
    }
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    const parser = packets.parser(MQTT_5);
    parser.on('packet', (packet: Packet) => {
      const answer = answerTo(packet, limits);
      if (answer !== undefined) socket.write(packets.generate(answer, MQTT_5));
      // A client subscribes to its commands (`/set`) when it connects. If it does so during the flood, it has
      // lost its former connection: there, the broker's answers came too late, behind all messages of the
      // flood. The new connection gets the flood, too.
      if (isFlooding && packet.subscriptions?.some(({ topic }) => topic.includes('/set')))
        sendMessages(socket);
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
    /** The number of messages that the broker has written to its sockets. */
    sent: 0,
    flood: () => {
      isFlooding = true;
      for (const socket of sockets) sendMessages(socket);
    },
    calm: () => {
      isFlooding = false;
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

function answerTo(
  { cmd, qos, messageId, subscriptions = [], unsubscriptions = [] }: Packet,
  limits: object,
): object | undefined {
  // A message of QoS 0 is not acknowledged.
  if (cmd === 'publish' && qos === 0) return undefined;
  const answers: Readonly<Record<string, object>> = {
    connect: { cmd: 'connack', reasonCode: 0, sessionPresent: false, properties: limits },
    subscribe: { cmd: 'suback', messageId, granted: subscriptions.map(() => 0) },
    unsubscribe: { cmd: 'unsuback', messageId, granted: unsubscriptions.map(() => 0) },
    pingreq: { cmd: 'pingresp' },
    publish: { cmd: 'puback', messageId, reasonCode: 0 },
  };
  return answers[cmd];
}

/**
 * Messages of many kinds. Most are commands to the node of `topic`. Some of the commands have targets that do
 * not exist. The messages to `status` and below `elsewhere` are no commands.
 */
export function commandsOfAllKinds(topic: string): readonly FloodMessage[] {
  return Array.from(
    { length: COMMANDS_OF_EACH_KIND },
    (_, index) =>
      [
        [`${topic}/audio/server/set`, '{"delta":0.01}'],
        [`${topic}/audio/outputs/living/set`, `{"volume":${(index % 90) / 100}}`],
        [`${topic}/services/user/unit-${index}.service/set`, 'restart'],
        [`${topic}/players/player-${index}/set`, 'play'],
        [`${topic}/power/set`, 'reboot'],
        [`${topic}/status`, 'offline'],
        [`${topic}/audio/server/mute/set`, 'true'],
        [`elsewhere/${index}`, 'x'],
      ] as const,
  ).flat();
}

/**
 * Commands to the node of `topic`, by the name of their large part. No command replaces an earlier one. So
 * without a bound, all of them would wait.
 */
export const LARGE_COMMANDS_BY_KIND: Readonly<Record<string, (topic: string) => readonly FloodMessage[]>> = {
  payload: (topic) => largeCommands(() => [`${topic}/audio/server/set`, 'x'.repeat(LARGE_PAYLOAD_CHARS)]),
  'plain value': (topic) =>
    largeCommands((index) => [
      `${topic}/audio/outputs/output-${index}/volume/set`,
      'x'.repeat(LARGE_PAYLOAD_CHARS),
    ]),
  // An empty list has three characters in the payload, but needs about 40 bytes of memory when it is parsed.
  'parsed body': (topic) =>
    largeCommands(() => [`${topic}/audio/server/set`, `{"x":[${'[],'.repeat(LONG_BYTES / '[],'.length)}1]}`]),
  topic: (topic) =>
    largeCommands((index) => [`${topic}/audio/outputs/${index}${LONG_NAME}/set`, '{"volume":0.1}']),
};

function largeCommands(commandOf: (index: number) => FloodMessage): readonly FloodMessage[] {
  return Array.from({ length: LARGE_COMMANDS }, (_, index) => commandOf(index));
}
