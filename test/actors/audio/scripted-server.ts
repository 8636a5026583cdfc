// A scripted sound server for everything that a real one cannot be made to do: hang at a command, send
// nonsense, answer out of order, have sinks with ports, refuse. The server writes its bytes with the writers
// of test/protocol, and not with src/protocol, because src/protocol is itself under test.

import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import * as wire from '../../protocol/pulse/bytes.js';
import { COMMAND, PROTOCOL_VERSION, packet, split } from '../../sound/packet.js';
import { temporaryFolder } from '../../temporary-folder.js';

/** The tag of a packet that answers no request. */
const NO_TAG = 0xffffffff;

/**
 * The positions of a packet's parts. Command and tag have four bytes each. One byte with the type stands
 * before each of them.
 */
const COMMAND_OFFSET = 1;
const TAG_OFFSET = 6;
const FIELDS_OFFSET = 10;

export { COMMAND };

/** The numbers of the sound server's errors. */
export const ERROR = { access: 1, noEntity: 5, internal: 10 } as const;

/**
 * The numbers of events. The low four bits are the facility, such as sink or card. The other bits are the
 * type, such as new or change.
 */
const EVENT = {
  sinkNew: 0x00,
  sinkChange: 0x10,
  sinkRemove: 0x20,
  sourceNew: 0x01,
  sourceChange: 0x11,
  sinkInputNew: 0x02,
  sinkInputChange: 0x12,
  sinkInputRemove: 0x22,
  serverChange: 0x17,
  cardNew: 0x09,
  cardChange: 0x19,
  cardRemove: 0x29,
} as const;

interface Request {
  readonly command: number;
  readonly tag: number;
  /** The bytes after command and tag. */
  readonly fields: Buffer;
}

/** Returns the bytes of the answer, as `reply` and `error` make them; undefined means no answer. */
export type Handler = (request: Request, responder: Responder) => Buffer | undefined;

type Responder = ReturnType<typeof responderFor>;

/** `sockets` are in the order in which they connected; undefined stands for a closed one. */
const responderFor = (sockets: readonly (Socket | undefined)[]) => ({
  reply: (tag: number, ...fields: wire.Bytes[]) => packet(COMMAND.reply, tag, ...fields),
  error: (tag: number, code: number) => packet(COMMAND.error, tag, wire.u32(code)),
  /** Sends to the latest client, or to the one with the number `client`, from 0. */
  send: (bytes: Buffer, client = -1) => void sockets.at(client)?.write(bytes),
  /** Reads nothing more from the latest client. */
  pause: () => void sockets.at(-1)?.pause(),
  hangUp: (client = -1) => void sockets.at(client)?.end(),
});

/**
 * `cookie` is a number that a real server chooses anew at each start, not the secret that lets clients in. By
 * default all scripted servers have the same number, so the daemon treats them as one server.
 */
const SERVER = { packageName: 'pulseaudio', cookie: 1, defaultSink: 'living' };

/**
 * The answer to GET_SERVER_INFO: name and version of the package, user, host, sample specification, default
 * sink, default source, cookie, channel map.
 */
function serverFields(fields: Partial<typeof SERVER> = {}): wire.Bytes {
  const { packageName, cookie, defaultSink } = { ...SERVER, ...fields };
  return [
    wire.text(packageName),
    wire.text('16.1'),
    wire.text('pi'),
    wire.text('node'),
    wire.spec(3, 2, 44_100),
    wire.text(defaultSink),
    wire.text('mic'),
    wire.u32(cookie),
    wire.map(1, 2),
  ].flat();
}

export interface SinkFields {
  readonly volume?: readonly number[];
  readonly muted?: boolean;
  /** 0 running, 1 idle, 2 suspended. */
  readonly state?: number;
  /** `available`: 0 unknown, 1 no, 2 yes. */
  readonly ports?: readonly (readonly [name: string, available: number])[];
  /** By default the first of the ports. */
  readonly activePort?: string;
  /** The index of the card to which the sink belongs. */
  readonly card?: number;
}

/** The volumes of two channels. */
const FULL_VOLUMES: readonly number[] = [0x10000, 0x10000];

function sinkFields(index: number, name: string, options: SinkFields = {}): wire.Bytes {
  const { volume = FULL_VOLUMES, ports = [], activePort = ports[0]?.[0], ...fields } = options;
  return wire.sink({
    index,
    name,
    description: `The ${name}`,
    flags: 0,
    muted: false,
    monitor: 0,
    activePort,
    volumes: wire.volumes(...volume),
    ports: ports.map(([port, available]) =>
      [wire.text(port), wire.text(`Port ${port}`), wire.u32(0), wire.u32(available)].flat(),
    ),
    ...fields,
  });
}

type SinkInputFields = Pick<wire.SinkInputBytes, 'corked' | 'muted' | 'sink' | 'hasVolume'>;

const sinkInputFields = (index: number, name: string, fields: SinkInputFields = {}): wire.Bytes =>
  wire.sinkInput({
    index,
    name,
    sink: 0,
    corked: false,
    volumes: wire.volumes(...FULL_VOLUMES),
    props: wire.props(wire.textProp('media.name', name)),
    ...fields,
  });

/**
 * The answer to the start of a capture: stream, source output, sizes of buffer and fragment, sample
 * specification, channel map, index and name of the source, whether the source is suspended, latency,
 * encoding. The daemon uses only the stream.
 */
const captureFields = (stream = 0): wire.Bytes =>
  [
    wire.u32(stream),
    wire.u32(1),
    wire.u32(0x400000),
    wire.u32(4),
    wire.spec(3, 1, 25),
    wire.map(0),
    wire.u32(0),
    wire.text('living.monitor'),
    wire.bool(false),
    wire.usec(0, 0),
    wire.format(1),
  ].flat();

/** The bytes of each answer, after command and tag. */
export const bytesOf = {
  server: serverFields,
  sink: sinkFields,
  sinkInput: sinkInputFields,
  capture: captureFields,
};

/** The packet in which the server sends these peaks of a meter's stream. */
export function peaks(stream: number, ...values: readonly number[]): Buffer {
  const samples = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) samples.writeFloatLE(value, 4 * index);
  return Buffer.from(wire.framed([...samples], { channel: stream }));
}

const ORDINARY_FIELDS: Readonly<Partial<Record<number, () => wire.Bytes>>> = {
  [COMMAND.auth]: () => wire.u32(PROTOCOL_VERSION),
  // The client's index.
  [COMMAND.setClientName]: () => wire.u32(9),
  [COMMAND.getServerInfo]: () => serverFields(),
  [COMMAND.getSinks]: () => sinkFields(0, 'living'),
  [COMMAND.getSink]: () => sinkFields(0, 'living'),
  [COMMAND.getInputs]: () => sinkInputFields(5, 'News'),
  [COMMAND.getInput]: () => sinkInputFields(5, 'News'),
};

/** Answers as a server with the sink `living` (index 0) and the sink input `News` (index 5). */
export const ordinaryHandler: Handler = ({ command, tag }, { reply }) => {
  const fields = ORDINARY_FIELDS[command];
  return fields === undefined ? reply(tag) : reply(tag, fields());
};

/**
 * Answers as `ordinaryHandler`, except for the commands in `answers`. Each of these has a handler, or the
 * bytes of its answer.
 */
export function ordinaryExcept(answers: Readonly<Partial<Record<number, Handler | wire.Bytes>>>): Handler {
  return (request, responder) => {
    const answer = answers[request.command] ?? ordinaryHandler;
    return typeof answer === 'function' ? answer(request, responder) : responder.reply(request.tag, answer);
  };
}

export const event = (kind: keyof typeof EVENT, index: number): Buffer =>
  packet(COMMAND.event, NO_TAG, wire.u32(EVENT[kind]), wire.u32(index));

export type ScriptedServer = Awaited<ReturnType<typeof scriptedServer>>;

/** Listens until the test ends. */
export async function scriptedServer(
  t: { after(end: () => unknown): void },
  handler: Handler = ordinaryHandler,
) {
  const socketPath = join(temporaryFolder(t), 'native');
  const sockets: (Socket | undefined)[] = [];
  const responder = responderFor(sockets);
  /** The received commands, in order, over all connections. */
  const received: number[] = [];
  const server = {
    socketPath,
    received,
    responder,
    /** The number of times that this command has arrived. */
    count: (command: number) => received.filter((earlier) => earlier === command).length,
    /** The number of connections so far. */
    connections: () => sockets.length,
    /** The number of connections that have not ended. */
    openConnections: () => sockets.filter((socket) => socket?.destroyed === false).length,
    /** Answers every command; a test may replace it at any time. */
    handler,
  };
  const listener = createServer((socket) => {
    const number = sockets.push(socket) - 1;
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      sockets[number] = undefined;
    });
    let unparsed: Buffer = Buffer.alloc(0);
    socket.on('data', (data) => {
      const { payloads, rest } = split(Buffer.concat([unparsed, data]));
      unparsed = rest;
      for (const payload of payloads) {
        const command = payload.readUInt32BE(COMMAND_OFFSET);
        const tag = payload.readUInt32BE(TAG_OFFSET);
        received.push(command);
        const answer = server.handler({ command, tag, fields: payload.subarray(FIELDS_OFFSET) }, responder);
        if (answer !== undefined) socket.write(answer);
      }
    });
  });
  t.after(() => {
    for (const socket of sockets) socket?.destroy();
    listener.close();
  });
  await new Promise<void>((resolve) => listener.listen(socketPath, resolve));
  return server;
}
