// Measured against by change.ts: what no program of two threads can do without when a stream changes. A thread hears the sound
// server's event, makes one request and posts 600 bytes of the reply; the main thread writes them to its listeners. It decodes
// nothing, compares nothing and remembers nothing. Argument: the server's socket.

import { App, type HttpResponse, us_socket_local_port } from 'uWebSockets.js';
import { connect } from 'node:net';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { bytes, PROTOCOL_VERSION, packet, properties, u32 } from '../../test/sound/packet.js';
import { obey } from './fork.js';

const POSTED_BYTES = 600;
const READ_BYTES = 64 * 1024;
const HEADER_BYTES = 20;
/** In a packet: behind the header, command, tag and an event's word, each with the byte of its type in front. */
const AT = { command: HEADER_BYTES + 1, tag: HEADER_BYTES + 6, index: HEADER_BYTES + 16 } as const;
const COMMAND = {
  reply: 2,
  authenticate: 8,
  setClientName: 9,
  getSinkInputInfo: 29,
  subscribe: 35,
  event: 66,
} as const;
const SINK_INPUTS = 4;
const COOKIE_BYTES = 256;

function listenAndPost(path: string): void {
  const received = Buffer.alloc(2 * READ_BYTES);
  let held = 0;
  const question = packet(COMMAND.getSinkInputInfo, 0, [u32(0)]);
  const handshake = [
    packet(COMMAND.setClientName, 1, [properties({ 'application.name': 'bare' })]),
    packet(COMMAND.subscribe, 2, [u32(SINK_INPUTS)]),
  ];
  const take = (end: number): void => {
    const next = handshake.shift();
    if (next !== undefined) {
      socket.write(next);
    } else if (received.readUInt32BE(AT.command) === COMMAND.event) {
      // In the request the index stands where an event has its word.
      question.writeUInt32BE(received.readUInt32BE(AT.index), AT.index - 5);
      socket.write(question);
    } else {
      parentPort?.postMessage(received.toString('latin1', Math.max(0, end - POSTED_BYTES), end));
    }
  };
  const callback = (length: number, buffer: Uint8Array): boolean => {
    received.set(buffer.subarray(0, length), held);
    held += length;
    while (held >= HEADER_BYTES) {
      const end = HEADER_BYTES + received.readUInt32BE(0);
      if (held < end) break;
      take(end);
      received.copyWithin(0, end, held);
      held -= end;
    }
    return true;
  };
  const socket = connect({ path, onread: { buffer: Buffer.alloc(READ_BYTES), callback } });
  socket.on('close', () => {
    throw new Error('the sound server has closed the connection');
  });
  socket.write(packet(COMMAND.authenticate, 0, [u32(PROTOCOL_VERSION), bytes(Buffer.alloc(COOKIE_BYTES))]));
}

function serve(path: string): void {
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
  const worker = new Worker(new URL(import.meta.url), { workerData: path });
  worker.on('message', (text: string) => {
    for (const response of listeners) response.cork(() => response.write(text));
  });
  // The first reply is that to the subscription: what changes before it nobody would hear of.
  worker.once('message', () => {
    app.listen('127.0.0.1', 0, (socket) => {
      if (socket === false) throw new Error('cannot listen');
      obey(us_socket_local_port(socket), {});
    });
  });
}

if (isMainThread) serve(process.argv[2] ?? '');
else listenAndPost(workerData as string);
