// Decodes both sides of one connection: takes the payloads of command frames, returns messages with names. It knows which request a
// reply answers and the version in use. It never throws: values that are not in the table are shown by their types.

import { Reader } from '../reader.js';
import type { TextCache } from '../text-cache.js';
import { NEWEST_VERSION, NONE, OLDEST_VERSION, WireError } from '../wire.js';
import { type Field, MESSAGES } from './messages.js';
import { type TypedValue, type Value, valueIn } from './values.js';

export type Side = 'client' | 'server';

/** One message. Undefined fields are absent. */
export interface DecodedMessage {
  /** The command's name, or its number if it has none; `?` without a number. */
  readonly command: string | number;
  readonly tag: number | undefined;
  /** For a reply or an error: the command that it answers, if that was seen. */
  readonly answers: string | number | undefined;
  readonly fields: Readonly<Record<string, Value>>;
  /** Values behind those that have a name, in wire order. */
  readonly unnamed: readonly TypedValue[];
  readonly problem: string | undefined;
}

/** Requests without a reply; beyond this the oldest are forgotten, and their replies shown without names. */
const PENDING_MAX = 4096;
/** Values without a name that are shown of one message, the first. */
const UNNAMED_MAX = 64;

const codeOf = (command: string): number => MESSAGES.findIndex(({ name }) => name === command);
const [ERROR, REPLY, AUTH] = ['ERROR', 'REPLY', 'AUTH'].map(codeOf);

export class Conversation {
  /** The client's version, and the common one, once they were sent. */
  offered: number | undefined;
  negotiated: number | undefined;
  readonly #texts: TextCache;
  /** The commands that wait for a reply, by their tags. */
  readonly #asked = new Map<number, number>();

  constructor(texts: TextCache) {
    this.#texts = texts;
  }

  read(from: Side, payload: Uint8Array): DecodedMessage {
    const reader = new Reader(payload, NEWEST_VERSION, this.#texts);
    let code = NONE;
    let tag = NONE;
    const { fields, unnamed, problem } = decode(
      reader,
      () => {
        code = reader.u32();
        tag = reader.u32();
        const isReply = from === 'server' && code === REPLY;
        return isReply ? MESSAGES[this.#asked.get(tag) ?? NONE]?.reply : MESSAGES[code]?.fields;
      },
      this.#version,
    );
    const asked = from === 'server' && (code === REPLY || code === ERROR) ? this.#asked.get(tag) : undefined;
    if (asked !== undefined) this.#asked.delete(tag);
    const version = typeof fields['version'] === 'number' ? fields['version'] : undefined;
    if (code === AUTH) this.offered = version ?? this.offered;
    if (asked === AUTH && code === REPLY && version !== undefined)
      this.negotiated = Math.min(NEWEST_VERSION, version, this.offered ?? version);
    if (from === 'client' && tag !== NONE) this.#expect(tag, code);
    const answers = asked === undefined ? undefined : nameOf(asked);
    const message = { command: nameOf(code), tag: tag === NONE ? undefined : tag, answers };
    const decoded = { ...message, fields, unnamed, problem };
    return code === AUTH ? withoutSecrets(decoded) : decoded;
  }

  /** The table has no older one: where it differs, names do not fit. */
  get #version(): number {
    const version = this.negotiated ?? Math.min(NEWEST_VERSION, this.offered ?? NEWEST_VERSION);
    return Math.max(OLDEST_VERSION, version);
  }

  #expect(tag: number, code: number): void {
    const oldest = this.#asked.size < PENDING_MAX ? undefined : this.#asked.keys().next().value;
    if (oldest !== undefined) this.#asked.delete(oldest);
    this.#asked.set(tag, code);
  }
}

function nameOf(code: number): string | number {
  return code === NONE ? '?' : (MESSAGES[code]?.name ?? code);
}

/** Any value of an unexpected AUTH may be the cookie, so it is not shown. */
function withoutSecrets(auth: DecodedMessage): DecodedMessage {
  const { fields, unnamed, problem } = auth;
  const { version, cookie } = fields;
  const isUsual = typeof version === 'number' && typeof cookie === 'string' && /^\d+ bytes$/.test(cookie);
  if (isUsual && unnamed.length === 0 && problem === undefined) return auth;
  return { ...auth, fields: {}, unnamed: [], problem: 'not as it should be, so that it is not shown' };
}

/** The values of a message until one cannot be read; `begin` reads what stands before them, and says which fields they are. */
function decode(
  reader: Reader,
  begin: () => readonly Field[] | undefined,
  version: number,
): Pick<DecodedMessage, 'fields' | 'unnamed' | 'problem'> {
  const fields: Record<string, Value> = {};
  const unnamed: TypedValue[] = [];
  try {
    readRecord(reader, begin() ?? [], version, fields);
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

function readRecord(
  reader: Reader,
  fields: readonly Field[],
  version: number,
  into: Record<string, Value>,
): Record<string, Value> {
  for (const field of fields) {
    if (version < (field.since ?? 0)) continue;
    if (reader.atEnd && field.list !== 'to the end')
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
  const isOpen = field.list === 'to the end';
  const count = isOpen ? Number.POSITIVE_INFINITY : valueIn(reader).value;
  if (typeof count !== 'number') throw new WireError(`${field.name} is a list without its count`);
  const values: Value[] = [];
  while (values.length < count && !(isOpen && reader.atEnd))
    values.push(field.of === undefined ? valueIn(reader).value : readRecord(reader, field.of, version, {}));
  return values;
}
