// A scripted bus on a real socket, for everything that no real bus can be made to do. It writes its own
// bytes, well-formed or not.

import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryFolder } from '../../temporary-folder.js';

/**
 * A basic value; of an array or a struct its items, of a dictionary's entry or a variant two: key or
 * signature, and value.
 */
export type Value = string | number | boolean | readonly Value[];

/**
 * That the package packs rightly is shown by the tests with a real bus; here it is given wrong things to
 * pack.
 */
const packed: (signature: string, values: readonly Value[]) => Buffer = createRequire(import.meta.url)(
  'dbus-next/lib/marshall',
);

const METHOD_RETURN = 2;
const ERROR = 3;
const SIGNAL = 4;

/** Header fields by number (D-Bus Specification, "Header Fields"): code, type, text or number. */
type Field = readonly [code: number, type: 's' | 'o' | 'g' | 'u', value: string | number];

const SENDER: Field = [7, 's', 'org.freedesktop.DBus'];

/** A whole message. */
export function messageBytes(type: number, fields: readonly Field[], body: Buffer = Buffer.alloc(0)): Buffer {
  const variants = fields.map(([code, of, value]) => [code, [of, value]]);
  const head = packed('yyyyuua(yv)', [0x6c, type, 1, 1, body.length, 1, variants]);
  return Buffer.concat([head, Buffer.alloc(-head.length & 7), body]);
}

function message(type: number, fields: readonly Field[], signature: string, values: readonly Value[]) {
  const all: readonly Field[] = signature === '' ? fields : [...fields, [8, 'g', signature]];
  return messageBytes(type, all, packed(signature, values));
}

export function reply(serial: number, signature = '', ...values: readonly Value[]): Buffer {
  return message(METHOD_RETURN, [[5, 'u', serial], SENDER], signature, values);
}

export function errorReply(serial: number, name: string, text?: string): Buffer {
  const fields: readonly Field[] = [[4, 's', name], [5, 'u', serial], SENDER];
  return text === undefined ? message(ERROR, fields, '', []) : message(ERROR, fields, 's', [text]);
}

export function signal(sender: string, iface: string, member: string, signature = '', ...values: Value[]) {
  const at: Field = [1, 'o', '/some/where'];
  return message(SIGNAL, [at, [2, 's', iface], [3, 's', member], [7, 's', sender]], signature, values);
}

/**
 * A call that the bus has received. `text` holds its bytes, so that a script can search for the member's
 * name.
 */
export interface ReceivedCall {
  readonly serial: number;
  readonly text: string;
}

export interface Script {
  /** Replaces the handshake. */
  readonly greet?: (socket: Socket) => void;
  /** Answers Hello; by default with the name :1.1. */
  readonly hello?: (socket: Socket, serial: number) => void;
  /** Handles every other call. */
  readonly call?: (socket: Socket, received: ReceivedCall) => void;
}

export type ScriptedBus = Awaited<ReturnType<typeof scriptedBus>>;

/**
 * Listens in its own folder, until `close` or the end of the test. The script may differ from connection to
 * connection.
 */
export async function scriptedBus(scriptOf: (connection: number) => Script, t?: Pick<TestContext, 'after'>) {
  const path = join(temporaryFolder(t), 'bus');
  const sockets = new Set<Socket>();
  /** The received messages, without Hello. */
  const received: ReceivedCall[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
    follow(socket, scriptOf(connections), received);
  });
  server.listen(path);
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  t?.after(close);
  const paths = () => ({ ok: true, value: [path] }) as const;
  return { path, paths, connections: () => connections, received, close };
}

function follow(socket: Socket, script: Script, received: ReceivedCall[]): void {
  if (script.greet !== undefined) {
    script.greet(socket);
    return;
  }
  let waiting: Buffer = Buffer.alloc(0);
  let greeted = false;
  socket.on('data', (chunk) => {
    waiting = Buffer.concat([waiting, chunk]);
    if (!greeted) {
      if (waiting.includes('AUTH') && !waiting.includes('BEGIN')) socket.write('OK 0123456789abcdef\r\n');
      const begin = waiting.indexOf('BEGIN\r\n');
      if (begin < 0) return;
      greeted = true;
      waiting = waiting.subarray(begin + 7);
    }
    for (let whole = wholeMessage(waiting); whole > 0; whole = wholeMessage(waiting)) {
      const one = { serial: waiting.readUInt32LE(8), text: waiting.toString('latin1', 0, whole) };
      waiting = waiting.subarray(whole);
      if (one.text.includes('Hello')) {
        (script.hello ?? welcome)(socket, one.serial);
      } else {
        received.push(one);
        script.call?.(socket, one);
      }
    }
  });
}

function welcome(socket: Socket, serial: number): void {
  socket.write(reply(serial, 's', ':1.1'));
}

/** The length of the message at the beginning of these bytes; 0 while it is incomplete. */
function wholeMessage(bytes: Buffer): number {
  if (bytes.length < 16) return 0;
  const length = 16 + Math.ceil(bytes.readUInt32LE(12) / 8) * 8 + bytes.readUInt32LE(4);
  return bytes.length < length ? 0 : length;
}
