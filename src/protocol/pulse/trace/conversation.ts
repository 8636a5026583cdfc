// Decodes both sides of one connection: takes the payloads of command frames, returns messages with names. It knows which request a
// reply answers and the version in use. It never throws: values that are not in the tables are shown one by one.

import { Reader } from '../reader.js';
import type { TextCache } from '../text-cache.js';
import { NEWEST_VERSION, NONE, OLDEST_VERSION, WireError } from '../wire.js';
import type { Fields, Value } from './kinds.js';
import { MESSAGES } from './messages.js';
import { type UnnamedValue, unnamedIn } from './unnamed.js';

export type Side = 'client' | 'server';

/** One message. Undefined fields are absent. */
export interface DecodedMessage {
  /** The command's name, or its number if it has none. */
  readonly command: string | number;
  readonly tag: number | undefined;
  /** For a reply or an error: the command that it answers, if that was seen. */
  readonly answers: string | number | undefined;
  readonly fields: Readonly<Record<string, Value>>;
  /** Values without a name in the tables, in wire order. */
  readonly unnamed: readonly UnnamedValue[];
  readonly problem: string | undefined;
}

/** Requests without a reply; beyond this the oldest are forgotten, and their replies shown without names. */
const PENDING_MAX = 4096;

const numberOf = (command: string): number => MESSAGES.findIndex(({ name }) => name === command);
const [ERROR, REPLY, AUTH] = ['ERROR', 'REPLY', 'AUTH'].map(numberOf);

interface AwaitedReply {
  readonly command: string | number;
  readonly reply: Fields | undefined;
  readonly isAuth: boolean;
}

export class Conversation {
  /** The client's version, and the common one, once they were sent. */
  offered: number | undefined;
  negotiated: number | undefined;
  readonly #texts: TextCache;
  readonly #asked = new Map<number, AwaitedReply>();

  constructor(texts: TextCache) {
    this.#texts = texts;
  }

  read(from: Side, payload: Uint8Array): DecodedMessage {
    const version = this.negotiated ?? Math.min(NEWEST_VERSION, this.offered ?? NEWEST_VERSION);
    // The tables have no older one: where it differs, values are shown by their types.
    const message = new MessageDecoder(payload, Math.max(OLDEST_VERSION, version), this.#texts);
    const head = message.head();
    if (head === undefined) return message.result('?', undefined);
    const [code, tag] = head;
    const isAnswer = from === 'server' && (code === REPLY || code === ERROR);
    return isAnswer ? this.#answer(message, code, tag) : this.#command(message, from, code, tag);
  }

  #command(message: MessageDecoder, from: Side, code: number, tag: number): DecodedMessage {
    const row = MESSAGES[code];
    if (row !== undefined) message.fields(row.fields);
    const name = row?.name ?? code;
    const isAuth = code === AUTH;
    const decoded = message.result(name, tag);
    if (isAuth) this.#offer(decoded.fields['version']);
    if (from === 'client' && tag !== NONE) this.#expect(tag, { command: name, reply: row?.reply, isAuth });
    return isAuth ? withoutSecrets(decoded) : decoded;
  }

  #answer(message: MessageDecoder, code: number, tag: number): DecodedMessage {
    const asked = this.#asked.get(tag);
    this.#asked.delete(tag);
    const row = MESSAGES[code];
    message.fields((code === ERROR ? row?.fields : asked?.reply) ?? {});
    const decoded = message.result(row?.name ?? code, tag, asked?.command);
    if (code === REPLY && asked?.isAuth) this.#agree(decoded.fields['version']);
    return decoded;
  }

  #offer(version: Value | undefined): void {
    if (typeof version === 'number') this.offered = version;
  }

  #agree(version: Value | undefined): void {
    if (typeof version !== 'number') return;
    this.negotiated = Math.min(NEWEST_VERSION, version, this.offered ?? version);
  }

  #expect(tag: number, asked: AwaitedReply): void {
    const oldest = this.#asked.size < PENDING_MAX ? undefined : this.#asked.keys().next().value;
    if (oldest !== undefined) this.#asked.delete(oldest);
    this.#asked.set(tag, asked);
  }
}

/** Any value of an unexpected AUTH may be the cookie, so it is not shown. */
function withoutSecrets(auth: DecodedMessage): DecodedMessage {
  if (auth.problem === undefined && auth.unnamed.length === 0) return auth;
  return { ...auth, unnamed: [], problem: 'not as it should be, so that it is not shown' };
}

/** One payload being read. After the first unexpected value nothing more is read by name. */
class MessageDecoder {
  readonly #reader: Reader;
  readonly #texts: TextCache;
  readonly #fields: Record<string, Value> = {};
  /** The bytes from the first value on that could not be read by name. */
  #rest: Uint8Array | undefined;
  #problem: string | undefined;

  constructor(payload: Uint8Array, version: number, texts: TextCache) {
    this.#reader = new Reader(payload, version, texts);
    this.#texts = texts;
  }

  /** Code and tag, with which every message begins. */
  head(): readonly [code: number, tag: number] | undefined {
    const code = this.#try(() => this.#reader.u32());
    const tag = this.#try(() => this.#reader.u32());
    return code === undefined || tag === undefined ? undefined : [code, tag];
  }

  fields(fields: Fields): void {
    for (const [name, field] of Object.entries(fields)) {
      if (this.#reader.version < (field.since ?? 0)) continue;
      const value = this.#try(() => field.read(this.#reader) ?? null);
      // The kinds of ../fields.ts and ./kinds.ts return only JSON values.
      if (value !== undefined) this.#fields[name] = value as Value;
    }
  }

  result(command: string | number, tag: number | undefined, answers?: string | number): DecodedMessage {
    const rest = this.#rest ?? this.#reader.rest();
    const { unnamed, problem } = unnamedIn(rest, this.#reader.version, this.#texts);
    return {
      command,
      tag: tag === NONE ? undefined : tag,
      answers,
      fields: this.#fields,
      unnamed,
      problem: this.#problem ?? problem,
    };
  }

  #try<T>(read: () => T): T | undefined {
    if (this.#rest !== undefined) return undefined;
    const before = this.#reader.rest();
    try {
      return read();
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#rest = before;
      this.#problem = error.message;
      return undefined;
    }
  }
}
