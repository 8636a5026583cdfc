// Values of D-Bus, packed by their signature, and any values for a signature. By the D-Bus specification, and by no code of the daemon's.

import type { SeededRandom } from '../seeded-random.js';

/** By its own signature; of an array `items`, of a struct or a dictionary's entry `parts`. */
export interface Type {
  readonly code: string;
  readonly parts: readonly Type[];
}

/** A basic value; of an array or a struct its items, of a dictionary its entries, each of two. */
export type Value = string | number | boolean | Variant | readonly Value[];

export class Variant {
  readonly signature: string;
  readonly value: Value;

  constructor(signature: string, value: Value) {
    this.signature = signature;
    this.value = value;
  }
}

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '{': '}' };

/** The types of a signature, which must be a right one. */
export function typesOf(signature: string): Type[] {
  let at = 0;
  const one = (): Type => {
    const code = signature[at++] ?? '';
    if (code === 'a') return { code, parts: [one()] };
    const parts: Type[] = [];
    if (CLOSING[code] !== undefined) {
      while (signature[at] !== CLOSING[code]) parts.push(one());
      at += 1;
    }
    return { code, parts };
  };
  const types: Type[] = [];
  while (at < signature.length) types.push(one());
  return types;
}

const SIZES: Record<string, number> = { y: 1, n: 2, q: 2, b: 4, i: 4, u: 4, h: 4, x: 8, t: 8, d: 8 };
const ALIGNMENTS: Readonly<Record<string, number>> = {
  ...SIZES,
  s: 4,
  o: 4,
  g: 1,
  v: 1,
  a: 4,
  '(': 8,
  '{': 8,
};

class Packer {
  bytes: Buffer = Buffer.alloc(256);
  length = 0;

  align(to: number): void {
    this.#room(8);
    while (this.length % to !== 0) this.bytes[this.length++] = 0;
  }

  put({ code, parts }: Type, value: Value): void {
    this.align(ALIGNMENTS[code] ?? 1);
    if (code === 'a') this.#array(parts[0] as Type, value as readonly Value[]);
    else if (CLOSING[code] !== undefined) {
      for (const [at, part] of parts.entries()) this.put(part, (value as readonly Value[])[at] as Value);
    } else if (code === 'v') {
      const { signature, value: inner } = value as Variant;
      this.#text(signature, 1);
      this.put(typesOf(signature)[0] as Type, inner);
    } else if ('sog'.includes(code)) this.#text(String(value), code === 'g' ? 1 : 4);
    else this.#number(code, Number(value));
  }

  #array(item: Type, items: readonly Value[]): void {
    const at = this.length;
    this.#room(4);
    this.length += 4;
    this.align(ALIGNMENTS[item.code] ?? 1);
    const start = this.length;
    for (const one of items) this.put(item, one);
    this.bytes.writeUInt32LE(this.length - start, at);
  }

  #text(text: string, lengthBytes: 1 | 4): void {
    const bytes = Buffer.from(`${text}\0`);
    this.#room(bytes.length + 4);
    this.bytes.writeUIntLE(bytes.length - 1, this.length, lengthBytes);
    this.length += lengthBytes;
    this.length += bytes.copy(this.bytes, this.length);
  }

  #number(code: string, value: number): void {
    const size = SIZES[code] ?? 0;
    this.#room(size);
    const view = new DataView(this.bytes.buffer, this.bytes.byteOffset);
    if (code === 'd') view.setFloat64(this.length, value, true);
    else if (size === 8) view.setBigInt64(this.length, BigInt(Math.trunc(value)), true);
    else if (size === 4) view.setInt32(this.length, value, true);
    else if (size === 2) view.setInt16(this.length, value, true);
    else view.setInt8(this.length, value);
    this.length += size;
  }

  #room(bytes: number): void {
    if (this.length + bytes <= this.bytes.length) return;
    this.bytes = Buffer.concat([this.bytes, Buffer.alloc(this.bytes.length + bytes)]);
  }
}

export function packed(signature: string, values: readonly Value[]): Buffer {
  const packer = new Packer();
  for (const [at, type] of typesOf(signature).entries()) packer.put(type, values[at] as Value);
  return Buffer.from(packer.bytes.subarray(0, packer.length));
}

const WORDS = [
  '',
  ...'x yes no na active failed Playing Stopped enabled masked loaded 1e999 player.service'.split(' '),
  ...'other.service ../../etc/passwd / /org/x :1.2 :1.99 __proto__ org.mpris.MediaPlayer2.one'.split(' '),
  ...'file:///etc/passwd http://a/ data:image/png;base64,AAAA \ufeff'.split(' '),
  ...['☕'.repeat(400), '\u0001\u001b[31m\r\nevent: x', 'x'.repeat(100_000)],
];
const NUMBERS = [
  ...[0, 1, -1, 2, 3, 255, 2 ** 31 - 1, -(2 ** 31), 2 ** 53, -(2 ** 62), 2 ** 62],
  ...[Number.NaN, Number.POSITIVE_INFINITY, 0.1, 1e308],
];
const SIGNATURES =
  's b u x t d o g v as ay a{sv} (uo) a(sss) i y n q aas a{ss} a{sa{sv}} (((((s))))) av aay a{us}'.split(' ');
/** Items of a long array. */
const MANY = 3000;

export const anySignature = (random: SeededRandom): string => random.pick(SIGNATURES);

/** Any value of the type: of the right kind, and seldom of use. */
export function anyValue({ code, parts }: Type, random: SeededRandom, depth = 0): Value {
  if ('sog'.includes(code)) return code === 'g' ? anySignature(random) : random.pick(WORDS);
  if (code === 'v') {
    const signature = depth > 6 ? 's' : anySignature(random);
    return new Variant(signature, anyValue(typesOf(signature)[0] as Type, random, depth + 1));
  }
  if (CLOSING[code] !== undefined) return parts.map((part) => anyValue(part, random, depth + 1));
  if (code === 'a') {
    const count = depth === 0 && random.chance(0.02) ? MANY : random.below(4);
    const few = depth > 5 ? 0 : count;
    const [item] = parts as [Type];
    const some = Array.from({ length: Math.min(few, 4) }, () => anyValue(item, random, depth + 1));
    return Array.from({ length: few }, (_, at) => some[at % 4] as Value);
  }
  const number = random.pick(NUMBERS);
  return code === 'd' || Number.isFinite(number) ? number : 0;
}

export const anyValues = (signature: string, random: SeededRandom): Value[] =>
  typesOf(signature).map((type) => anyValue(type, random));
