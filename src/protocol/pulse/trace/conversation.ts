// Decodes both sides of one connection: takes frames, returns messages with names. It knows which request a
// reply answers and the version in use. It never throws: values that are not in the table are printed by
// their types. Its only change to a frame is that it declines shared memory.

import { Chunk, HEADER_BYTES } from '../frame.js';
import { Reader } from '../reader.js';
import type { TextCache } from '../text-cache.js';
import { NEWEST_VERSION, NONE, OLDEST_VERSION, TAG, WireError } from '../wire.js';
import { type Field, type Fields, MESSAGES, recordOf } from './messages.js';
import { type TypedValue, type Value, valueIn } from './values.js';

export type Side = 'client' | 'server';

/** One message. Undefined fields are absent. */
export interface DecodedMessage {
  /** The command's name, or its number if it has none; `?` without a number. */
  readonly command: string | number;
  readonly tag: number | undefined;
  /** For a reply or an error: the command that it answers, if the trace has that. */
  readonly answers: string | number | undefined;
  readonly fields: Readonly<Record<string, Value>>;
  /** Values behind those that have a name, in wire order. */
  readonly unnamed: readonly TypedValue[];
  readonly problem: string | undefined;
  /** Kinds of shared memory that it offered. */
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

/** Positions in a header. The highest bits of the flags belong to shared memory, which is declined. */
const OFFSET_AT = 8;
const SEEK_AT = 19;
/** Names of PA_SEEK_*. */
const SEEKS = ['relative', 'absolute', 'relative-on-read', 'relative-end'];
/**
 * Positions in a command's frame: the type bytes of code, tag and, in AUTH and its reply, version; then the
 * version's highest byte.
 */
const CODE_AT = HEADER_BYTES;
const TAG_AT = CODE_AT + 5;
const VERSION_AT = TAG_AT + 5;
const FLAGS_AT = VERSION_AT + 1;
/** After the version: the cookie's type tag and length, then the cookie. */
const COOKIE_AT = VERSION_AT + 5;
const COOKIE_BYTES_AT = COOKIE_AT + 5;

/**
 * Flags in the version's highest byte. A trace can neither pass descriptors on nor look into shared memory.
 */
const SHARED_MEMORY = { shm: 0x80, memfd: 0x40 };

/**
 * Requests without a reply; beyond this the oldest are forgotten, and their replies are printed without
 * names.
 */
const PENDING_MAX = 4096;
/** How many values without a name are printed of one message: the first ones. */
const UNNAMED_MAX = 64;

const codeOf = (command: string): number => MESSAGES.findIndex(({ name }) => name === command);
const [ERROR, REPLY, AUTH] = ['ERROR', 'REPLY', 'AUTH'].map(codeOf);

export class Conversation {
  /** The client's version, and the common one, once they were sent. */
  offered: number | undefined;
  negotiated: number | undefined;
  readonly #texts: TextCache;
  /** The commands that wait for a reply, by their tags. */
  readonly #requests = new Map<number, number>();

  constructor(texts: TextCache) {
    this.#texts = texts;
  }

  /** Takes the frame of a command, and may change it. */
  read(from: Side, frame: Buffer): DecodedMessage {
    const { command: code = NONE, tag = NONE } = labelOf(frame);
    const isReply = from === 'server' && code === REPLY;
    const request = isReply || (from === 'server' && code === ERROR) ? this.#requests.get(tag) : undefined;
    const named = isReply ? MESSAGES[request ?? NONE]?.reply : MESSAGES[code]?.fields;
    const reader = new Reader(new Chunk(frame), NEWEST_VERSION, this.#texts, HEADER_BYTES);
    const { fields, unnamed, problem } = decode(reader, named ?? [], this.#version);
    if (request !== undefined) this.#requests.delete(tag);
    const version = typeof fields['version'] === 'number' ? fields['version'] : undefined;
    if (code === AUTH) this.offered = version ?? this.offered;
    if (request === AUTH && isReply && version !== undefined)
      this.negotiated = Math.min(NEWEST_VERSION, version, this.offered ?? version);
    if (from === 'client' && tag !== NONE) this.#expect(tag, code);
    const answers = request === undefined ? undefined : nameOf(request);
    const message = { command: nameOf(code), tag: tag === NONE ? undefined : tag, answers };
    const isAuth = from === 'client' ? code === AUTH : isReply && request === AUTH;
    const decoded = { ...message, fields, unnamed, problem, declined: isAuth ? decline(frame) : [] };
    return code === AUTH ? withoutSecrets(decoded) : decoded;
  }

  /** The table has no older one: where it differs, names do not fit. */
  get #version(): number {
    const version = this.negotiated ?? Math.min(NEWEST_VERSION, this.offered ?? NEWEST_VERSION);
    return Math.max(OLDEST_VERSION, version);
  }

  #expect(tag: number, code: number): void {
    const oldest = this.#requests.size < PENDING_MAX ? undefined : this.#requests.keys().next().value;
    if (oldest !== undefined) this.#requests.delete(oldest);
    this.#requests.set(tag, code);
  }
}

function nameOf(code: number): string | number {
  return code === NONE ? '?' : (MESSAGES[code]?.name ?? code);
}

/** The u32 whose tag is at that position; undefined if there is none. */
function wordAt(frame: Buffer, at: number): number | undefined {
  return frame[at] === TAG.u32 && frame.length >= at + 5 ? frame.readUInt32BE(at + 1) : undefined;
}

/** Code and tag of a command's frame, as far as it has them. */
export function labelOf(frame: Buffer) {
  return { command: wordAt(frame, CODE_AT), tag: wordAt(frame, TAG_AT) };
}

export function blockOf(frame: Buffer, channel: number): Block {
  const seek = frame.readUInt8(SEEK_AT);
  const offset = Number(frame.readBigInt64BE(OFFSET_AT));
  return { channel, offset, length: frame.length - HEADER_BYTES, seek: SEEKS[seek] ?? seek };
}

/**
 * A command's frame with zeros from the cookie's bytes on; if there is no valid cookie, from the version on.
 */
export function withoutCookie(frame: Buffer): Buffer {
  if (labelOf(frame).command !== AUTH) return frame;
  return Buffer.from(frame).fill(0, frame[COOKIE_AT] === TAG.bytes ? COOKIE_BYTES_AT : COOKIE_AT);
}

/** Clears the flags of shared memory in the version, and returns their names. */
function decline(frame: Buffer): readonly string[] {
  if (wordAt(frame, VERSION_AT) === undefined) return [];
  const flags = frame.readUInt8(FLAGS_AT);
  const offered = Object.entries(SHARED_MEMORY).filter(([, bit]) => (flags & bit) !== 0);
  frame[FLAGS_AT] = offered.reduce((left, [, bit]) => left & ~bit, flags);
  return offered.map(([name]) => name);
}

/** Any value of an unexpected AUTH may be the cookie, so it is not printed. */
function withoutSecrets(auth: DecodedMessage): DecodedMessage {
  const { fields, unnamed, problem } = auth;
  const { version, cookie } = fields;
  const isUsual = typeof version === 'number' && typeof cookie === 'string' && /^\d+ bytes$/.test(cookie);
  if (isUsual && unnamed.length === 0 && problem === undefined) return auth;
  return { ...auth, fields: {}, unnamed: [], problem: 'not as it should be, so that it is not shown' };
}

/** The values of a message, behind its code and tag, until one cannot be read. */
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

function readRecord(reader: Reader, fields: Fields, version: number, into: Record<string, Value> = {}) {
  for (const field of fields) {
    if (version < (field.since ?? 0)) continue;
    if (reader.atEnd && field.list !== '+')
      throw new WireError(`${field.name} is missing: this is the end of the frame`);
    into[field.name] = field.list === undefined ? plainValue(reader, field) : list(reader, field, version);
  }
  return into;
}

function plainValue(reader: Reader, { as }: Field): Value {
  const { value } = valueIn(reader);
  return as !== undefined && typeof value === 'number' ? as(value) : value;
}

/** The frame bounds it, whatever a count claims. */
function list(reader: Reader, field: Field, version: number): Value[] {
  const isOpen = field.list === '+';
  const count = isOpen ? Number.POSITIVE_INFINITY : valueIn(reader).value;
  if (typeof count !== 'number') throw new WireError(`${field.name} is a list without its count`);
  const values: Value[] = [];
  while (values.length < count && !(isOpen && reader.atEnd))
    values.push(field.of ? readRecord(reader, recordOf(field.of), version) : valueIn(reader).value);
  return values;
}
