// The bare program of change.ts, latency.ts and memory.ts: the least that a program of two threads must do
// when a stream changes. Its first argument is the server's socket. With `record` as the second it also
// makes JSON of the record, and events with ids.

import { App, type HttpResponse, us_socket_local_port } from 'uWebSockets.js';
import { connect } from 'node:net';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { clientRecord, PropertyCache } from '../../src/actors/audio/view.js';
import { frame } from '../../src/gateway/events/frames.js';
import {
  COMMANDS,
  type CommandName,
  FROM_SERVER,
  type RequestArgs,
  writeCommand,
} from '../../src/protocol/pulse/commands.js';
import { Chunk } from '../../src/protocol/pulse/frame.js';
import { Reader } from '../../src/protocol/pulse/reader.js';
import { TextCache } from '../../src/protocol/pulse/text-cache.js';
import { OLDEST_VERSION } from '../../src/protocol/pulse/wire.js';
import { Writer } from '../../src/protocol/pulse/writer.js';
import { obey } from './fork.js';

const POSTED_BYTES = 600;
const READ_BYTES = 64 * 1024;
const HEADER_BYTES = 20;
/**
 * Offsets in a packet. An event has a header, the command, the tag, the event's kind, and the index. A
 * request has the same without the kind. Behind the header, each value has four bytes, after a byte with its
 * type.
 */
const AT = {
  command: HEADER_BYTES + 1,
  requestIndex: HEADER_BYTES + 11,
  eventIndex: HEADER_BYTES + 16,
} as const;
const SINK_INPUTS = 4;
const COOKIE_BYTES = 256;

/**
 * One thread receives the sound server's event, makes one request, and posts the reply to the main thread,
 * which writes it to its listeners. As `bytes` it posts the last 600 bytes, and nothing is decoded. As
 * `record` it posts the JSON of the decoded record, and the main thread makes an event of it. Neither thread
 * keeps earlier values.
 */
type PostedForm = 'bytes' | 'record';

/** Makes the text that is posted for a reply: the end of the packet, or its record as JSON. */
function textMakerFor(form: PostedForm): (received: Chunk, end: number) => string {
  if (form === 'bytes')
    return ({ bytes }, end) => bytes.toString('latin1', Math.max(0, end - POSTED_BYTES), end);
  const texts = new TextCache();
  const propertyCache = new PropertyCache();
  const context = { kind: 'pulseaudio', output: 'living' } as const;
  return (received, end) => {
    const reader = new Reader(received, OLDEST_VERSION, texts, HEADER_BYTES, end);
    // A refusal means that the stream no longer exists.
    if (reader.u32() !== FROM_SERVER.REPLY) return '';
    // The next value is the tag. If nothing follows the tag, this is the reply to the subscription.
    reader.u32();
    if (reader.isAtEnd) return '';
    const info = COMMANDS.GET_SINK_INPUT_INFO.reply.read(reader);
    return JSON.stringify(clientRecord(info, { ...context, name: info.name ?? '' }, propertyCache));
  };
}

/** Makes the bytes that are sent to listeners. */
function bytesMakerFor(form: PostedForm): (text: string) => string | Uint8Array {
  if (form === 'bytes') return (text) => text;
  const events = new Events();
  return (text) => events.next(text);
}

/** Makes events with ids. */
class Events {
  #sequence = 0;

  next(text: string): Uint8Array {
    this.#sequence += 1;
    return Buffer.from(frame('audio.updated', `[${text}]`, `bare-${this.#sequence}`));
  }
}

function commandFrame<C extends CommandName>(command: C, tag: number, args: RequestArgs<C>): Uint8Array {
  const writer = new Writer();
  writeCommand(writer, command, tag, args);
  return writer.take();
}

function listenAndPost(path: string, form: PostedForm): void {
  const textOf = textMakerFor(form);
  const received = Buffer.alloc(2 * READ_BYTES);
  const chunk = new Chunk(received);
  let buffered = 0;
  const question = Buffer.from(commandFrame('GET_SINK_INPUT_INFO', 0, { index: 0 }));
  const handshake = [
    commandFrame('SET_CLIENT_NAME', 1, { props: { 'application.name': 'bare' } }),
    commandFrame('SUBSCRIBE', 2, { mask: SINK_INPUTS }),
  ];
  const handlePacket = (end: number): void => {
    const next = handshake.shift();
    if (next !== undefined) {
      socket.write(next);
    } else if (received.readUInt32BE(AT.command) === FROM_SERVER.SUBSCRIBE_EVENT) {
      question.writeUInt32BE(received.readUInt32BE(AT.eventIndex), AT.requestIndex);
      socket.write(question);
    } else {
      parentPort?.postMessage(textOf(chunk, end));
    }
  };
  const callback = (length: number, buffer: Uint8Array): boolean => {
    received.set(buffer.subarray(0, length), buffered);
    buffered += length;
    while (buffered >= HEADER_BYTES) {
      const end = HEADER_BYTES + received.readUInt32BE(0);
      if (buffered < end) break;
      handlePacket(end);
      received.copyWithin(0, end, buffered);
      buffered -= end;
    }
    return true;
  };
  const socket = connect({ path, onread: { buffer: Buffer.alloc(READ_BYTES), callback } });
  socket.on('close', () => {
    throw new Error('the sound server has closed the connection');
  });
  socket.write(commandFrame('AUTH', 0, { version: OLDEST_VERSION, cookie: Buffer.alloc(COOKIE_BYTES) }));
}

function serve(path: string, form: PostedForm): void {
  const bytesFor = bytesMakerFor(form);
  const listeners = new Set<HttpResponse>();
  const app = App();
  app.get('/events', (response) => {
    listeners.add(response);
    response.onAborted(() => listeners.delete(response));
    response.cork(() => {
      response.writeStatus('200 OK');
      response.writeHeader('Content-Type', 'text/event-stream');
      response.write('data: "connected"\n\n');
    });
  });
  const worker = new Worker(new URL(import.meta.url), { workerData: [path, form] });
  worker.on('message', (text: string) => {
    const piece = bytesFor(text);
    for (const response of listeners) response.cork(() => response.write(piece));
  });
  // The first message is the reply to the subscription. Before that, the server sends no changes.
  worker.once('message', () => {
    app.listen('127.0.0.1', 0, (socket) => {
      if (socket === false) throw new Error('cannot listen');
      obey(us_socket_local_port(socket), {});
    });
  });
}

if (isMainThread) serve(process.argv[2] ?? '', process.argv[3] === 'record' ? 'record' : 'bytes');
else listenAndPost(...(workerData as Parameters<typeof listenAndPost>));
