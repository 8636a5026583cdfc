// Decides which command each frame of a traced connection has, which request a reply answers, and what the
// values of a frame are called. It never throws, and changes frames only to decline shared memory.

import { Chunk, HEADER_BYTES } from '../frame.js';
import { Reader } from '../reader.js';
import type { TextCache } from '../text-cache.js';
import { NEWEST_VERSION, NONE, OLDEST_VERSION, TYPE_TAG, WireError } from '../wire.js';
import { MESSAGES, type MessageField, type MessageFields, recordFields } from './messages.js';
import { readTypedValue, type TypedValue, type Value } from './values.js';

export type Side = 'client' | 'server';

/** One message. A member is undefined if the message does not have it. */
export interface DecodedMessage {
  /** The command's name; its code if the code has no name; `?` if the frame has no code. */
  readonly command: string | number;
  readonly tag: number | undefined;
  /** The command that a reply or an error answers, if its request is remembered. */
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
export interface AudioBlock {
  readonly channel: number;
  /** Bytes, relative to the position that `seek` names. */
  readonly offset: number;
  readonly length: number;
  readonly seek: string | number;
}

// Positions in the header of a frame with audio data.
const OFFSET_START = 8;
/** The lowest byte of the flags. */
const SEEK_POSITION = 19;
/** Names of PA_SEEK_*. */
const SEEKS = ['relative', 'absolute', 'relative-on-read', 'relative-end'];
// Positions in the frame of a command. Each value begins with its type tag, so a u32 takes five bytes.
const CODE_START = HEADER_BYTES;
/** The tag of the command, by which its reply is found. */
const TAG_START = CODE_START + 5;
/** Only in AUTH and its reply. */
const VERSION_START = TAG_START + 5;
/** The highest byte of the version. */
const FLAGS_POSITION = VERSION_START + 1;
/** Only in AUTH: type tag, length, then the cookie's bytes. */
const COOKIE_START = VERSION_START + 5;
const COOKIE_BYTES_START = COOKIE_START + 5;

/**
 * Flags in the highest byte of the version. Each flag offers a kind of shared memory. A trace has to decline
 * both kinds, because it can neither pass file descriptors on nor read shared memory.
 */
const SHARED_MEMORY_FLAGS = { shm: 0x80, memfd: 0x40 };

/**
 * How many requests without a reply are remembered. If there are more, the values in the replies to the
 * oldest ones have no names.
 */
const PENDING_MAX = 4096;
/** How many values without a name are decoded of one message: the first ones. */
const UNNAMED_MAX = 64;

/** A command's code on the wire is its index in `MESSAGES`. */
const commandCode = (command: string): number => MESSAGES.findIndex(({ name }) => name === command);
const ERROR = commandCode('ERROR');
const REPLY = commandCode('REPLY');
const AUTH = commandCode('AUTH');

export class Conversation {
  /** The client's protocol version, once it has been sent. */
  offeredVersion: number | undefined;
  /** The protocol version that both sides use, but at most NEWEST_VERSION. Undefined until it is known. */
  negotiatedVersion: number | undefined;
  readonly #texts: TextCache;
  /** The codes of the requests that wait for a reply, by the requests' tags. */
  readonly #requestCodes = new Map<number, number>();

  constructor(texts: TextCache) {
    this.#texts = texts;
  }

  /** Decodes the frame of a command. Clears the flags of shared memory in it. */
  read(from: Side, frame: Buffer): DecodedMessage {
    // A code or tag that the frame lacks becomes NONE. A message that answers no request also has the tag
    // NONE. Neither `MESSAGES` nor `#requestCodes` has an entry for NONE.
    const { command: code = NONE, tag = NONE } = commandAndTagOf(frame);
    const isReply = from === 'server' && code === REPLY;
    const isError = from === 'server' && code === ERROR;
    // `requestCode` is the code of the request that this message answers. A reply's fields depend on it, but
    // all errors have the same fields.
    const requestCode = isReply || isError ? this.#requestCodes.get(tag) : undefined;
    const namedFields = isReply ? MESSAGES[requestCode ?? NONE]?.reply : MESSAGES[code]?.fields;
    // The reader's version has no effect here, because `readTypedValue` reads each value by its type tag.
    const reader = new Reader(new Chunk(frame), NEWEST_VERSION, this.#texts, HEADER_BYTES);
    const { fields, unnamed, problem } = decode(reader, namedFields ?? [], this.#namingVersion);
    if (requestCode !== undefined) this.#requestCodes.delete(tag);
    if (from === 'client' && tag !== NONE) this.#remember(tag, code);
    const isAuthReply = isReply && requestCode === AUTH;
    // `fields` has the version without its flags (`protocolVersion` in values.ts).
    this.#learnVersion(code, isAuthReply, fields['version']);
    const hasVersion = isAuthReply || (from === 'client' && code === AUTH);
    const decoded = {
      command: wireCommandName(code),
      tag: tag === NONE ? undefined : tag,
      answers: requestCode === undefined ? undefined : wireCommandName(requestCode),
      fields,
      unnamed,
      problem,
      declined: hasVersion ? declineSharedMemory(frame) : [],
    };
    return code === AUTH ? withoutSecrets(decoded) : decoded;
  }

  #learnVersion(code: number, isAuthReply: boolean, version: Value | undefined): void {
    if (typeof version !== 'number') return;
    if (code === AUTH) this.offeredVersion = version;
    if (isAuthReply)
      this.negotiatedVersion = Math.min(NEWEST_VERSION, version, this.offeredVersion ?? version);
  }

  /**
   * The version by which fields get their names. `MESSAGES` has only versions 32 to 35. For any other version
   * the nearest of these is taken, and some names may be wrong.
   */
  get #namingVersion(): number {
    const version = this.negotiatedVersion ?? this.offeredVersion ?? NEWEST_VERSION;
    return Math.max(OLDEST_VERSION, Math.min(NEWEST_VERSION, version));
  }

  /** Remembers a request until its reply comes. */
  #remember(tag: number, code: number): void {
    const isFull = this.#requestCodes.size >= PENDING_MAX;
    const [oldestTag] = this.#requestCodes.keys();
    if (isFull && oldestTag !== undefined) this.#requestCodes.delete(oldestTag);
    this.#requestCodes.set(tag, code);
  }
}

function wireCommandName(code: number): string | number {
  return code === NONE ? '?' : (MESSAGES[code]?.name ?? code);
}

/** The u32 whose type tag is at `start`; undefined if there is none. */
function wordAt(frame: Buffer, start: number): number | undefined {
  const hasWord = frame[start] === TYPE_TAG.u32 && frame.length >= start + 5;
  return hasWord ? frame.readUInt32BE(start + 1) : undefined;
}

/** The code and the tag of a command; each is undefined if the frame lacks it. */
export function commandAndTagOf(frame: Buffer) {
  return { command: wordAt(frame, CODE_START), tag: wordAt(frame, TAG_START) };
}

/** Reads the header of a frame with audio data. */
export function audioBlockOf(frame: Buffer, channel: number): AudioBlock {
  const seek = frame.readUInt8(SEEK_POSITION);
  const offset = Number(frame.readBigInt64BE(OFFSET_START));
  return { channel, offset, length: frame.length - HEADER_BYTES, seek: SEEKS[seek] ?? seek };
}

/**
 * Returns a copy of an AUTH frame without the cookie: all bytes from `secretStart` on are 0. A frame of
 * another command is returned as it is.
 */
export function withoutCookie(frame: Buffer): Buffer {
  if (commandAndTagOf(frame).command !== AUTH) return frame;
  return Buffer.from(frame).fill(0, secretStart(frame));
}

/**
 * The place where the cookie's bytes begin. If a value before these bytes is not as it should be, the result
 * is the place of this value, because the cookie may be there.
 */
function secretStart(auth: Buffer): number {
  if (wordAt(auth, TAG_START) === undefined) return TAG_START;
  if (wordAt(auth, VERSION_START) === undefined) return VERSION_START;
  const hasLength = auth[COOKIE_START] === TYPE_TAG.bytes && auth.length >= COOKIE_BYTES_START;
  const length = hasLength ? auth.readUInt32BE(COOKIE_START + 1) : undefined;
  return length === auth.length - COOKIE_BYTES_START ? COOKIE_BYTES_START : COOKIE_START;
}

/** Clears the flags of shared memory in the frame's version. Returns the names of the flags that were set. */
function declineSharedMemory(frame: Buffer): readonly string[] {
  if (wordAt(frame, VERSION_START) === undefined) return [];
  let flags = frame.readUInt8(FLAGS_POSITION);
  const offered = Object.entries(SHARED_MEMORY_FLAGS).filter(([, flag]) => (flags & flag) !== 0);
  for (const [, flag] of offered) flags &= ~flag;
  frame[FLAGS_POSITION] = flags;
  return offered.map(([name]) => name);
}

/** Returns a usual AUTH as it is. Any other AUTH loses its values, because each value may be the cookie. */
function withoutSecrets(auth: DecodedMessage): DecodedMessage {
  const { fields, unnamed, problem } = auth;
  const { version, cookie } = fields;
  // The reader of bytes in values.ts returns a text such as `256 bytes`.
  const isUsual = typeof version === 'number' && typeof cookie === 'string' && /^\d+ bytes$/.test(cookie);
  if (isUsual && unnamed.length === 0 && problem === undefined) return auth;
  return { ...auth, fields: {}, unnamed: [], problem: 'not as it should be, so that it is not shown' };
}

/** Decodes the values behind code and tag, up to the first one that cannot be read. */
function decode(reader: Reader, namedFields: MessageFields, version: number) {
  const fields: Record<string, Value> = {};
  const unnamed: TypedValue[] = [];
  try {
    reader.u32();
    reader.u32();
    readRecord(reader, namedFields, version, fields);
    while (!reader.isAtEnd) {
      if (unnamed.length === UNNAMED_MAX) throw new WireError(`${reader.unreadBytes().length} bytes more`);
      unnamed.push(readTypedValue(reader));
    }
    return { fields, unnamed, problem: undefined };
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return { fields, unnamed, problem: error.message };
  }
}

/** Reads the fields of a record into `values`. If a field cannot be read, `values` has the earlier fields. */
function readRecord(
  reader: Reader,
  fields: MessageFields,
  version: number,
  values: Record<string, Value> = {},
) {
  for (const field of fields) {
    if (version < (field.since ?? 0)) continue;
    // A list that goes to the end of the frame (`+` in messages.ts) takes no bytes if it is empty.
    const isListToEnd = field.list === '+';
    if (reader.isAtEnd && !isListToEnd)
      throw new WireError(`${field.name} is missing: this is the end of the frame`);
    values[field.name] =
      field.list === undefined ? printableValue(reader, field) : listValue(reader, field, version);
  }
  return values;
}

function printableValue(reader: Reader, { naming }: MessageField): Value {
  const { value } = readTypedValue(reader);
  return naming !== undefined && typeof value === 'number' ? naming(value) : value;
}

/**
 * Reads a list. If its count is too large, reading goes on behind the list, and a value that cannot be read,
 * or the frame's end, causes a WireError.
 */
function listValue(reader: Reader, field: MessageField, version: number): Value[] {
  const isListToEnd = field.list === '+';
  const count = isListToEnd ? Number.POSITIVE_INFINITY : readTypedValue(reader).value;
  if (typeof count !== 'number') throw new WireError(`${field.name} is a list without its count`);
  const values: Value[] = [];
  while (values.length < count) {
    if (isListToEnd && reader.isAtEnd) break;
    const { itemRecord } = field;
    const value = itemRecord
      ? readRecord(reader, recordFields(itemRecord), version)
      : readTypedValue(reader).value;
    values.push(value);
  }
  return values;
}
