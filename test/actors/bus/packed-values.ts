// Values of D-Bus, packed by their signature. By the D-Bus specification, and by no code of the daemon's.

/** By its own signature; of an array `items`, of a struct or a dictionary's entry `parts`. */
interface Type {
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
function typesOf(signature: string): Type[] {
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
