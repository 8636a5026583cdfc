// Decodes both sides of one traced connection: decides which command each frame is, which request a reply
// answers, and which names its values have. It never throws: values without a name in the table have the
// names of their types. It changes frames only to decline shared memory.

import { Chunk, HEADER_BYTES } from '../frame.js';
import { Reader } from '../reader.js';
import type { TextCache } from '../text-cache.js';
import { NEWEST_VERSION, NONE, OLDEST_VERSION, TAG, WireError } from '../wire.js';
import { type Field, type Fields, MESSAGES, recordOf } from './messages.js';
import { type TypedValue, type Value, valueIn } from './values.js';

export type Side = 'client' | 'server';

/** One message. A member is undefined if the message does not have it. */
export interface DecodedMessage {
  /** The command's name; its number if that has no name; `?` if the frame has no number. */
  readonly command: string | number;
  readonly tag: number | undefined;
  /** The command that a reply or an error answers, if the trace has seen it. */
  readonly answers: string | number | undefined;
  readonly fields: Readonly<Record<string, Value>>;
  /** The values after those that have a name, in wire order. */
  readonly unnamed: readonly TypedValue[];
  /** Why the rest of the message could not be decoded. */
  readonly problem: string | undefined;
  /** The kinds of shared memory that the message has offered, and that were declined. */
  readonly declined: readonly string[];
}

/** The header of a frame with audio data. */
export interface Block {
  readonly channel: number;
  /** Bytes, relative to the position given by `seek`. */
  readonly offset: number;
  readonly length: number;
  readonly seek: string | number;
}

/** Positions in the header of a frame with audio data. */
const OFFSET_AT = 8;
const SEEK_AT = 19;
/** Names of PA_SEEK_*. */
const SEEKS = ['relative', 'absolute', 'relative-on-read', 'relative-end'];
/**
 * Positions in a frame: of the type tags before the code, before the command's own tag, and before the
 * version in AUTH and its reply.
 */
const CODE_AT = HEADER_BYTES;
const TAG_AT = CODE_AT + 5;
const VERSION_AT = TAG_AT + 5;
/** The highest byte of the version. */
const FLAGS_AT = VERSION_AT + 1;
/** After the version: the cookie's tag and length, then the cookie's bytes. */
const COOKIE_AT = VERSION_AT + 5;
const COOKIE_BYTES_AT = COOKIE_AT + 5;

/**
 * Flags in the highest byte of the version. A trace has to decline both kinds: it can neither pass file
 * descriptors on nor read shared memory.
 */
const SHARED_MEMORY_FLAGS = { shm: 0x80, memfd: 0x40 };

/**
 * How many requests without a reply are remembered. If there are more, the values in the replies to the
 * oldest ones have no names.
 */
const PENDING_MAX = 4096;
/** How many values without a name are decoded of one message: the first ones. */
const UNNAMED_MAX = 64;

const codeOf = (command: string): number => MESSAGES.findIndex(({ name }) => name === command);
const ERROR = codeOf('ERROR');
const REPLY = codeOf('REPLY');
const AUTH = codeOf('AUTH');

export class Conversation {
  /** The client's protocol version, once it has been sent. */
  offered: number | undefined;
  /** The protocol version that both sides use, once it is known. */
  negotiated: number | undefined;
  readonly #texts: TextCache;
  /** The numbers of the commands that wait for a reply, by their tags. */
  readonly #requests = new Map<number, number>();

  constructor(texts: TextCache) {
    this.#texts = texts;
  }

  /** Decodes the frame of a command. Clears the flags of shared memory in it. */
  read(from: Side, frame: Buffer): DecodedMessage {
    const { command: code = NONE, tag = NONE } = labelOf(frame);
    const isReply = from === 'server' && code === REPLY;
    const isError = from === 'server' && code === ERROR;
    const request = isReply || isError ? this.#requests.get(tag) : undefined;
    const named = isReply ? MESSAGES[request ?? NONE]?.reply : MESSAGES[code]?.fields;
    const reader = new Reader(new Chunk(frame), NEWEST_VERSION, this.#texts, HEADER_BYTES);
    const { fields, unnamed, problem } = decode(reader, named ?? [], this.#version);
    if (request !== undefined) this.#requests.delete(tag);
    if (from === 'client' && tag !== NONE) this.#remember(tag, code);
    const isAuthReply = isReply && request === AUTH;
    this.#learnVersion(code, isAuthReply, fields['version']);
    const hasVersion = isAuthReply || (from === 'client' && code === AUTH);
    const decoded = {
      command: nameOf(code),
      tag: tag === NONE ? undefined : tag,
      answers: request === undefined ? undefined : nameOf(request),
      fields,
      unnamed,
      problem,
      declined: hasVersion ? declineSharedMemory(frame) : [],
    };
    return code === AUTH ? withoutSecrets(decoded) : decoded;
  }

  #learnVersion(code: number, isAuthReply: boolean, version: Value | undefined): void {
    if (typeof version !== 'number') return;
    if (code === AUTH) this.offered = version;
    if (isAuthReply) this.negotiated = Math.min(NEWEST_VERSION, version, this.offered ?? version);
  }

  /** The version by which fields get their names. For versions that the table lacks, some names are wrong. */
  get #version(): number {
    const version = this.negotiated ?? Math.min(NEWEST_VERSION, this.offered ?? NEWEST_VERSION);
    return Math.max(OLDEST_VERSION, version);
  }

  /** Remembers a request until its reply comes. */
  #remember(tag: number, code: number): void {
    const oldest = this.#requests.size < PENDING_MAX ? undefined : this.#requests.keys().next().value;
    if (oldest !== undefined) this.#requests.delete(oldest);
    this.#requests.set(tag, code);
  }
}

function nameOf(code: number): string | number {
  return code === NONE ? '?' : (MESSAGES[code]?.name ?? code);
}

/** The u32 whose tag is at this position; undefined if there is none. */
function wordAt(frame: Buffer, at: number): number | undefined {
  return frame[at] === TAG.u32 && frame.length >= at + 5 ? frame.readUInt32BE(at + 1) : undefined;
}

/** The number and the tag of a command; undefined where the frame lacks them. */
export function labelOf(frame: Buffer) {
  return { command: wordAt(frame, CODE_AT), tag: wordAt(frame, TAG_AT) };
}

/** Reads the header of a frame with audio data. */
export function blockOf(frame: Buffer, channel: number): Block {
  const seek = frame.readUInt8(SEEK_AT);
  const offset = Number(frame.readBigInt64BE(OFFSET_AT));
  return { channel, offset, length: frame.length - HEADER_BYTES, seek: SEEKS[seek] ?? seek };
}

/**
 * Returns a copy of a frame of AUTH without the cookie, and any other frame itself. In the copy everything
 * is 0 from the cookie's bytes on. If the cookie is not in its place, everything after the version is 0.
 */
export function withoutCookie(frame: Buffer): Buffer {
  if (labelOf(frame).command !== AUTH) return frame;
  return Buffer.from(frame).fill(0, frame[COOKIE_AT] === TAG.bytes ? COOKIE_BYTES_AT : COOKIE_AT);
}

/** Clears the flags of shared memory in the frame's version, and returns the names of those that were set. */
function declineSharedMemory(frame: Buffer): readonly string[] {
  if (wordAt(frame, VERSION_AT) === undefined) return [];
  let flags = frame.readUInt8(FLAGS_AT);
  const offered = Object.entries(SHARED_MEMORY_FLAGS).filter(([, flag]) => (flags & flag) !== 0);
  for (const [, flag] of offered) flags &= ~flag;
  frame[FLAGS_AT] = flags;
  return offered.map(([name]) => name);
}

/** Returns AUTH as it is if it has the usual form, else without values, because any may be the cookie. */
function withoutSecrets(auth: DecodedMessage): DecodedMessage {
  const { fields, unnamed, problem } = auth;
  const { version, cookie } = fields;
  const isUsual = typeof version === 'number' && typeof cookie === 'string' && /^\d+ bytes$/.test(cookie);
  if (isUsual && unnamed.length === 0 && problem === undefined) return auth;
  return { ...auth, fields: {}, unnamed: [], problem: 'not as it should be, so that it is not shown' };
}

/** Decodes the values behind code and tag, up to the first one that cannot be read. */
function decode(reader: Reader, named: Fields, version: number) {
  const fields: Record<string, Value> = {};
  const unnamed: TypedValue[] = [];
  try {
    reader.u32();
    reader.u32();
    readRecord(reader, named, version, fields);
    while (!reader.atEnd) {
      if (unnamed.length === UNNAMED_MAX) throw new WireError(`${reader.rest().length} bytes more`);
      unnamed.push(valueIn(reader));
    }
    return { fields, unnamed, problem: undefined };
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return { fields, unnamed, problem: error.message };
  }
}

/** Reads the fields of a record into `values`. After an error, `values` has the fields before it. */
function readRecord(reader: Reader, fields: Fields, version: number, values: Record<string, Value> = {}) {
  for (const field of fields) {
    if (version < (field.since ?? 0)) continue;
    if (reader.atEnd && field.list !== '+')
      throw new WireError(`${field.name} is missing: this is the end of the frame`);
    values[field.name] =
      field.list === undefined ? plainValue(reader, field) : listValue(reader, field, version);
  }
  return values;
}

function plainValue(reader: Reader, { as }: Field): Value {
  const { value } = valueIn(reader);
  return as !== undefined && typeof value === 'number' ? as(value) : value;
}

/** Reads a list. A count beyond the list causes a WireError, at the latest at the frame's end. */
function listValue(reader: Reader, field: Field, version: number): Value[] {
  const isToEnd = field.list === '+';
  const count = isToEnd ? Number.POSITIVE_INFINITY : valueIn(reader).value;
  if (typeof count !== 'number') throw new WireError(`${field.name} is a list without its count`);
  const values: Value[] = [];
  while (values.length < count && !(isToEnd && reader.atEnd)) {
    const value = field.of ? readRecord(reader, recordOf(field.of), version) : valueIn(reader).value;
    values.push(value);
  }
  return values;
}
