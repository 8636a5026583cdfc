// A scripted bus: does over a real socket what no real bus can be made to do. Writes its own bytes, well-formed or not.

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const METHOD_RETURN = 2;
const ERROR = 3;
const SIGNAL = 4;

/** Header fields by number (D-Bus Specification, "Header Fields"): code, type, text or number. */
type Field = readonly [code: number, type: 's' | 'o' | 'g' | 'u', value: string | number];

function padded(bytes: Buffer, to: number): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((to - (bytes.length % to)) % to)]);
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** A marshalled string, at an aligned place. */
export function text(value: string): Buffer {
  return Buffer.concat([word(Buffer.byteLength(value)), Buffer.from(`${value}\0`)]);
}

export function signature(value: string): Buffer {
  return Buffer.concat([Buffer.from([value.length]), Buffer.from(`${value}\0`)]);
}

function field([code, type, value]: Field): Buffer {
  const head = Buffer.concat([Buffer.from([code]), signature(type)]);
  if (type === 'g') return Buffer.concat([head, signature(String(value))]);
  return Buffer.concat([head, type === 'u' ? word(Number(value)) : text(String(value))]);
}

/** A whole message. */
export function messageBytes(type: number, fields: readonly Field[], body: Buffer = Buffer.alloc(0)): Buffer {
  const packed = fields.map((one) => padded(field(one), 8));
  const last = fields.at(-1);
  // The length of the array does not count the padding behind its last element.
  const length =
    packed.slice(0, -1).reduce((sum, one) => sum + one.length, 0) + (last ? field(last).length : 0);
  const head = Buffer.concat([Buffer.from([0x6c, type, 1, 1]), word(body.length), word(1), word(length)]);
  return Buffer.concat([head, ...packed, body]);
}

export function reply(serial: number, bodySignature = '', body: Buffer = Buffer.alloc(0)): Buffer {
  const fields: Field[] = [
    [5, 'u', serial],
    [7, 's', 'org.freedesktop.DBus'],
  ];
  if (bodySignature !== '') fields.push([8, 'g', bodySignature]);
  return messageBytes(METHOD_RETURN, fields, body);
}

export function errorReply(serial: number, name: string, body?: string): Buffer {
  const fields: Field[] = [
    [4, 's', name],
    [5, 'u', serial],
    [7, 's', 'org.freedesktop.DBus'],
  ];
  if (body === undefined) return messageBytes(ERROR, fields);
  return messageBytes(ERROR, [...fields, [8, 'g', 's']], text(body));
}

export function signal(
  sender: string,
  iface: string,
  member: string,
  bodySignature = '',
  body: Buffer = Buffer.alloc(0),
): Buffer {
  const fields: Field[] = [
    [1, 'o', '/some/where'],
    [2, 's', iface],
    [3, 's', member],
    [7, 's', sender],
  ];
  if (bodySignature !== '') fields.push([8, 'g', bodySignature]);
  return messageBytes(SIGNAL, fields, body);
}

/** A call that the bus has got. `text` holds its bytes, for a look at the member's name. */
export interface Heard {
  readonly serial: number;
  readonly text: string;
}

export interface Script {
  /** Instead of the handshake. */
  readonly greet?: (socket: Socket) => void;
  /** Answers Hello; by default with the name :1.1. */
  readonly hello?: (socket: Socket, serial: number) => void;
  /** Every other call. */
  readonly call?: (socket: Socket, heard: Heard) => void;
}

export interface ScriptedBus {
  readonly path: string;
  /** Connections so far. */
  readonly connections: () => number;
  /** What came, without Hello. */
  readonly heard: readonly Heard[];
  close(): Promise<void>;
}

export function tempDir(): string {
  return mkdtempSync(join(tmpdir(), 'tonearm-bus-'));
}

/** Listens in a folder of its own. The script may differ from connection to connection. */
export async function scriptedBus(scriptOf: (connection: number) => Script): Promise<ScriptedBus> {
  const dir = tempDir();
  const path = join(dir, 'bus');
  const sockets = new Set<Socket>();
  const heard: Heard[] = [];
  let connections = 0;
  const server: Server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
    follow(socket, scriptOf(connections), heard);
  });
  server.listen(path);
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
    rmSync(dir, { recursive: true, force: true });
  };
  return { path, connections: () => connections, heard, close };
}

function follow(socket: Socket, script: Script, heard: Heard[]): void {
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
        heard.push(one);
        script.call?.(socket, one);
      }
    }
  });
}

function welcome(socket: Socket, serial: number): void {
  socket.write(reply(serial, 's', text(':1.1')));
}

/** The length of the message that begins these bytes; 0 while it is not all there. */
function wholeMessage(bytes: Buffer): number {
  if (bytes.length < 16) return 0;
  const length = 16 + Math.ceil(bytes.readUInt32LE(12) / 8) * 8 + bytes.readUInt32LE(4);
  return bytes.length < length ? 0 : length;
}
