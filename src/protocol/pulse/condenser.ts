// Makes of a large payload a small one, as its bytes come: long texts lose their end, and property lists the entries that nobody
// would keep. What remains is a payload like any other. It knows tags, and not what a record is.

import { PropertyBudget } from './property-budget.js';
import { TEXT_MAX_BYTES } from './text-cache.js';
import { describeTag, TAG, WireError } from './wire.js';

/** What may remain of one payload: some hundred records of the largest kind. */
export const CONDENSED_MAX_BYTES = 16 * 1024 * 1024;
const BUFFER_MIN_BYTES = 64 * 1024;
/** One byte more than is read of a text shows the reader that the text was longer. */
const KEPT_MAX_BYTES = TEXT_MAX_BYTES + 1;
/** In front of a property's bytes: tag and length as u32, tag and length of the bytes. */
const PROP_HEADER_BYTES = 10;

/** Bytes behind the tag, of values that always have as many; of the others behind a count, as bytes for each. */
const SIZES: ReadonlyMap<number, number> = new Map([
  [TAG.noText, 0],
  [TAG.yes, 0],
  [TAG.no, 0],
  [TAG.format, 0],
  [TAG.u8, 1],
  [TAG.u32, 4],
  [TAG.volume, 4],
  [TAG.sampleSpec, 6],
  [TAG.usec, 8],
]);
const SIZES_OF_EACH: ReadonlyMap<number, number> = new Map([
  [TAG.channelMap, 1],
  [TAG.volumes, 4],
]);

/** Gives way where it needs more bytes than have come. */
type Steps<T = void> = Generator<undefined, T, undefined>;

export class Condenser {
  #chunk: Uint8Array = new Uint8Array(0);
  /** What of the chunk has been passed. */
  #at = 0;
  #kept = new Uint8Array(BUFFER_MIN_BYTES);
  #length = 0;
  readonly #steps = this.#values();

  /** Takes the next bytes. Throws WireError for what no payload may hold. */
  push(bytes: Uint8Array): void {
    this.#chunk = bytes;
    this.#at = 0;
    this.#steps.next();
  }

  /** What remains of the bytes so far. Where they end within a value, so does this, or within a list. */
  get payload(): Uint8Array {
    return this.#kept.subarray(0, this.#length);
  }

  *#values(): Steps {
    for (;;) {
      const tag = yield* this.#byte();
      const size = SIZES.get(tag);
      const each = SIZES_OF_EACH.get(tag);
      if (size !== undefined) yield* this.#pass(size, size);
      else if (tag === TAG.text) yield* this.#text();
      else if (tag === TAG.props) yield* this.#properties();
      else if (each !== undefined) {
        const bytes = each * (yield* this.#byte());
        yield* this.#pass(bytes, bytes);
      } else throw new WireError(`a value that begins with ${describeTag(tag)} in a large frame`);
    }
  }

  *#properties(): Steps {
    const budget = new PropertyBudget();
    for (;;) {
      const entry = this.#length;
      const tag = yield* this.#byte();
      if (tag === TAG.noText) return;
      if (tag !== TAG.text) throw new WireError(`a property that begins with ${describeTag(tag)}`);
      yield* this.#text();
      const header = this.#length;
      const key = Buffer.from(this.#kept.buffer, entry + 1, header - entry - 2).toString('latin1');
      const size = yield* this.#valueHeader();
      const admitted = budget.admits(key, key.length, size);
      const kept = admitted ? Math.min(size, KEPT_MAX_BYTES) : 0;
      yield* this.#pass(size, kept);
      if (!admitted) this.#length = entry;
      else for (const at of [header + 1, header + 6]) this.#view.setUint32(at, kept);
    }
  }

  /** Answers with the value's length. */
  *#valueHeader(): Steps<number> {
    const at = this.#length;
    yield* this.#pass(PROP_HEADER_BYTES, PROP_HEADER_BYTES);
    const [announced, size] = [this.#view.getUint32(at + 1), this.#view.getUint32(at + 6)];
    if (this.#kept[at] === TAG.u32 && this.#kept[at + 5] === TAG.bytes && size === announced) return size;
    throw new WireError('a property without the length of its value');
  }

  /** Up to its NUL. */
  *#text(): Steps {
    for (let room = KEPT_MAX_BYTES; ; ) {
      while (this.#at === this.#chunk.length) yield;
      const end = this.#chunk.indexOf(0, this.#at);
      const part = this.#chunk.subarray(this.#at, end === -1 ? undefined : end);
      this.#keep(part.subarray(0, room));
      room = Math.max(0, room - part.length);
      this.#at += part.length;
      if (end !== -1) break;
    }
    yield* this.#byte();
  }

  /** Moves behind `bytes` bytes, of which the first `kept` remain. */
  *#pass(bytes: number, kept: number): Steps {
    for (let passed = 0; passed < bytes; ) {
      while (this.#at === this.#chunk.length) yield;
      const part = this.#chunk.subarray(this.#at, this.#at + bytes - passed);
      if (passed < kept) this.#keep(part.subarray(0, kept - passed));
      passed += part.length;
      this.#at += part.length;
    }
  }

  *#byte(): Steps<number> {
    yield* this.#pass(1, 1);
    return this.#kept[this.#length - 1] ?? 0;
  }

  #keep(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > CONDENSED_MAX_BYTES) throw new WireError('a frame of too many records');
    if (length > this.#kept.length) {
      const grown = new Uint8Array(Math.max(length, 2 * this.#kept.length));
      grown.set(this.#kept.subarray(0, this.#length));
      this.#kept = grown;
    }
    this.#kept.set(bytes, this.#length);
    this.#length = length;
  }

  get #view(): DataView {
    return new DataView(this.#kept.buffer);
  }
}
