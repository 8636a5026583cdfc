// A scripted bus on a real socket. It does what no test can make a real bus do: for instance, it sends
// malformed messages.

import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryFolder } from '../../temporary-folder.js';

/**
 * A basic value is written as it is. An array or a struct is written as its items, an entry of a dictionary
 * as a key and a value, and a variant as a signature and a value.
 */
export type Value = string | number | boolean | readonly Value[];

/**
 * Writes values in D-Bus's format, with the code of dbus-next, which the daemon uses, too. The tests with a
 * real bus prove that dbus-next writes correctly.
 */
const marshal: (signature: string, values: readonly Value[]) => Buffer = createRequire(import.meta.url)(
  'dbus-next/lib/marshall',
);

/** Types of messages (D-Bus Specification, "Message Format"). */
export const METHOD_CALL = 1;
const METHOD_RETURN = 2;
const ERROR = 3;
export const SIGNAL = 4;

/** Codes of header fields (D-Bus Specification, "Header Fields"). */
export const HEADER_FIELD = {
  path: 1,
  interface: 2,
  member: 3,
  errorName: 4,
  replySerial: 5,
  destination: 6,
  sender: 7,
  signature: 8,
} as const;

type Field = readonly [code: number, type: 's' | 'o' | 'g' | 'u', value: string | number];

const SENDER: Field = [HEADER_FIELD.sender, 's', 'org.freedesktop.DBus'];

const LITTLE_ENDIAN = 'l'.charCodeAt(0);
const NO_REPLY_EXPECTED = 1;
const VERSION = 1;
/** Nobody refers to these messages by their serial, so all have the same one. */
const SERIAL = 1;

/** The size of the part of a message before its header fields. */
const FIXED_HEADER_BYTES = 16;
/** Places in this part, in bytes. */
const BODY_LENGTH_OFFSET = 4;
const SERIAL_OFFSET = 8;
const FIELDS_LENGTH_OFFSET = 12;

/** The last line before the first message (D-Bus Specification, "Authentication Protocol"). */
const BEGIN_LINE = 'BEGIN\r\n';

/** The body begins at a multiple of 8 bytes. */
const paddedLength = (lengthBytes: number): number => Math.ceil(lengthBytes / 8) * 8;

/** The bytes of a message: header, padding and body. */
export function messageBytes(type: number, fields: readonly Field[], body: Buffer = Buffer.alloc(0)): Buffer {
  const variants = fields.map(([code, valueType, value]) => [code, [valueType, value]]);
  const head = marshal('yyyyuua(yv)', [
    LITTLE_ENDIAN,
    type,
    NO_REPLY_EXPECTED,
    VERSION,
    body.length,
    SERIAL,
    variants,
  ]);
  const padding = Buffer.alloc(paddedLength(head.length) - head.length);
  return Buffer.concat([head, padding, body]);
}

function encoded(type: number, fields: readonly Field[], signature: string, values: readonly Value[]) {
  const allFields: readonly Field[] =
    signature === '' ? fields : [...fields, [HEADER_FIELD.signature, 'g', signature]];
  return messageBytes(type, allFields, marshal(signature, values));
}

export function reply(serial: number, signature = '', ...values: readonly Value[]): Buffer {
  return encoded(METHOD_RETURN, [[HEADER_FIELD.replySerial, 'u', serial], SENDER], signature, values);
}

export function errorReply(serial: number, name: string, text?: string): Buffer {
  const fields: readonly Field[] = [
    [HEADER_FIELD.errorName, 's', name],
    [HEADER_FIELD.replySerial, 'u', serial],
    SENDER,
  ];
  return text === undefined ? encoded(ERROR, fields, '', []) : encoded(ERROR, fields, 's', [text]);
}

export function signal(sender: string, iface: string, member: string, signature = '', ...values: Value[]) {
  const fields: readonly Field[] = [
    [HEADER_FIELD.path, 'o', '/some/where'],
    [HEADER_FIELD.interface, 's', iface],
    [HEADER_FIELD.member, 's', member],
    [HEADER_FIELD.sender, 's', sender],
  ];
  return encoded(SIGNAL, fields, signature, values);
}

/**
 * A call that the bus has received. `text` has one character for each byte of the message, so that a script
 * can search it for a method's name.
 */
export interface ReceivedCall {
  readonly serial: number;
  readonly text: string;
}

export interface Script {
  /** Replaces the handshake, and everything after it. */
  readonly greet?: (socket: Socket) => void;
  /** Answers Hello; by default the answer is the name :1.1. */
  readonly hello?: (socket: Socket, serial: number) => void;
  /** Handles every other call. */
  readonly call?: (socket: Socket, received: ReceivedCall) => void;
}

export class ScriptedBus {
  readonly path: string;
  /** The received calls, without Hello. */
  readonly received: ReceivedCall[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #connections = 0;

  constructor(path: string, scriptOf: (connection: number) => Script) {
    this.path = path;
    this.#server = createServer((socket) => {
      this.#connections += 1;
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy()).on('close', () => this.#sockets.delete(socket));
      serve(socket, scriptOf(this.#connections), this.received);
    });
  }

  /** The option `paths` of a `Bus` that connects to this bus. */
  readonly paths = () => ({ ok: true, value: [this.path] }) as const;

  /** The number of all connections so far, open or closed. */
  connections(): number {
    return this.#connections;
  }

  async listen(): Promise<void> {
    this.#server.listen(this.path);
    await once(this.#server, 'listening');
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/**
 * Listens in a folder of its own, until `close` or the end of the test. `scriptOf` returns the script of
 * each connection. The first connection has the number 1.
 */
export async function scriptedBus(
  scriptOf: (connection: number) => Script,
  t?: Pick<TestContext, 'after'>,
): Promise<ScriptedBus> {
  const bus = new ScriptedBus(join(temporaryFolder(t), 'bus'), scriptOf);
  await bus.listen();
  t?.after(() => bus.close());
  return bus;
}

function serve(socket: Socket, script: Script, received: ReceivedCall[]): void {
  if (script.greet !== undefined) {
    script.greet(socket);
    return;
  }
  let unread: Buffer = Buffer.alloc(0);
  let isGreeted = false;
  socket.on('data', (chunk) => {
    unread = Buffer.concat([unread, chunk]);
    if (!isGreeted) {
      // The client sends AUTH, waits for OK, and then sends BEGIN.
      if (unread.includes('AUTH') && !unread.includes('BEGIN')) socket.write('OK 0123456789abcdef\r\n');
      const begin = unread.indexOf(BEGIN_LINE);
      if (begin < 0) return;
      isGreeted = true;
      unread = unread.subarray(begin + BEGIN_LINE.length);
    }
    for (let length = messageLength(unread); length > 0; length = messageLength(unread)) {
      const call = { serial: unread.readUInt32LE(SERIAL_OFFSET), text: unread.toString('latin1', 0, length) };
      unread = unread.subarray(length);
      if (call.text.includes('Hello')) {
        (script.hello ?? answerHello)(socket, call.serial);
      } else {
        received.push(call);
        script.call?.(socket, call);
      }
    }
  });
}

function answerHello(socket: Socket, serial: number): void {
  socket.write(reply(serial, 's', ':1.1'));
}

/** The length of the message at the beginning of these bytes; 0 while it is incomplete. */
function messageLength(bytes: Buffer): number {
  if (bytes.length < FIXED_HEADER_BYTES) return 0;
  const bodyBytes = bytes.readUInt32LE(BODY_LENGTH_OFFSET);
  const fieldBytes = bytes.readUInt32LE(FIELDS_LENGTH_OFFSET);
  const length = FIXED_HEADER_BYTES + paddedLength(fieldBytes) + bodyBytes;
  return bytes.length < length ? 0 : length;
}
