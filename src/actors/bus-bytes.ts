// Checks a D-Bus message's bytes before dbus-next decodes them: dbus-next believes every length, and a length that lies
// makes it throw out of a stream's handler, loop, or fill the memory. Pure; it builds no values.
// Reference: D-Bus Specification, "Message Protocol" and "Marshaling".

/** The answer of GetAll is below 20 kB, ListUnits of a thousand units 200 kB. The protocol's own limit is 128 MiB. */
export const MESSAGE_MAX_BYTES = 4 << 20;
export const HEADER_BYTES = 16;

const NESTING_MAX_LEVELS = 64;
const LITTLE_ENDIAN = 0x6c;
const BIG_ENDIAN = 0x42;
const PROTOCOL_VERSION = 1;
const SIGNATURE_FIELD = 8;

/** A message that is not one. The text says where, never what it held. */
export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}

export interface Header {
  readonly littleEndian: boolean;
  readonly fieldsBytes: number;
  readonly bodyBytes: number;
  /** What follows the fixed header: fields, padding, body. */
  readonly restBytes: number;
}

/** Reads the fixed part of a header; throws MalformedMessage. */
export function readHeader(bytes: Buffer): Header {
  const littleEndian = bytes[0] === LITTLE_ENDIAN;
  if (!littleEndian && bytes[0] !== BIG_ENDIAN) throw new MalformedMessage('unknown byte order');
  if (bytes[3] !== PROTOCOL_VERSION) throw new MalformedMessage('unknown protocol version');
  const word = (at: number): number => (littleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const bodyBytes = word(4);
  const fieldsBytes = word(12);
  const restBytes = align(fieldsBytes, 8) + bodyBytes;
  if (restBytes + HEADER_BYTES > MESSAGE_MAX_BYTES) {
    throw new MalformedMessage(`a message of ${restBytes + HEADER_BYTES} bytes is over the limit`);
  }
  // Every message has at least a path or a reply serial; and dbus-next would wait for ever for nothing.
  if (fieldsBytes === 0) throw new MalformedMessage('no header fields');
  return { littleEndian, fieldsBytes, bodyBytes, restBytes };
}

/** Checks what follows the fixed header; throws MalformedMessage. */
export function checkRest(header: Header, rest: Buffer): void {
  const fields = new Walk(rest.subarray(0, header.fieldsBytes), header.littleEndian);
  const signature = fields.headerFields(header.fieldsBytes);
  const body = new Walk(rest.subarray(align(header.fieldsBytes, 8)), header.littleEndian);
  body.values(signature, 0);
  body.mustBeAtEnd();
}

function align(at: number, to: number): number {
  return Math.ceil(at / to) * to;
}

/** Bytes of the fixed types, which are also their alignment. */
const FIXED_BYTES: Readonly<Record<string, number>> = {
  y: 1,
  n: 2,
  q: 2,
  b: 4,
  i: 4,
  u: 4,
  x: 8,
  t: 8,
  d: 8,
};

const ALIGNMENT: Readonly<Record<string, number>> = {
  ...FIXED_BYTES,
  s: 4,
  o: 4,
  g: 1,
  v: 1,
  a: 4,
  '(': 8,
  '{': 8,
};

/** The end of the complete type that begins at `at`. Throws on what is no type. `h` is none: we negotiate no descriptors. */
function typeEnd(signature: string, at: number, depth = 0): number {
  const code = signature[at] ?? '';
  if (depth > NESTING_MAX_LEVELS || ALIGNMENT[code] === undefined)
    throw new MalformedMessage('bad signature');
  if (code === 'a') return typeEnd(signature, at + 1, depth + 1);
  if (code !== '(' && code !== '{') return at + 1;
  const close = code === '(' ? ')' : '}';
  let end = at + 1;
  let members = 0;
  while (signature[end] !== close) {
    end = typeEnd(signature, end, depth + 1);
    members += 1;
  }
  // An empty struct takes no bytes: an array of them would never end.
  if (members === 0 || (code === '{' && (members !== 2 || signature[at - 1] !== 'a'))) {
    throw new MalformedMessage('bad signature');
  }
  return end + 1;
}

/** Steps over marshalled values; every step is checked against the bytes that there are. */
class Walk {
  #at = 0;
  readonly #bytes: Buffer;
  readonly #littleEndian: boolean;

  constructor(bytes: Buffer, littleEndian: boolean) {
    this.#bytes = bytes;
    this.#littleEndian = littleEndian;
  }

  mustBeAtEnd(): void {
    if (this.#at !== this.#bytes.length) throw new MalformedMessage('bytes behind the body');
  }

  /** The array of fields, whose length stands in the fixed header. Gives the body's signature. */
  headerFields(length: number): string {
    let signature = '';
    while (this.#at < length) {
      this.#align(8);
      const field = this.#bytes[this.#step(1)];
      const type = this.#signature();
      if (typeEnd(type, 0) !== type.length) throw new MalformedMessage('bad variant');
      if (field === SIGNATURE_FIELD && type === 'g') signature = this.#signature();
      else this.value(type, 0, 0);
    }
    return signature;
  }

  values(signature: string, depth: number): void {
    for (let at = 0; at < signature.length; at = typeEnd(signature, at)) this.value(signature, at, depth);
  }

  value(signature: string, at: number, depth: number): void {
    if (depth > NESTING_MAX_LEVELS) throw new MalformedMessage('nested too deep');
    const code = signature[at] ?? '';
    const fixed = FIXED_BYTES[code];
    if (fixed !== undefined) {
      this.#align(fixed);
      this.#step(fixed);
    } else if (code === 's' || code === 'o') {
      this.#text(this.#word());
    } else if (code === 'g') {
      this.#signature();
    } else if (code === 'v') {
      const type = this.#signature();
      if (typeEnd(type, 0) !== type.length) throw new MalformedMessage('bad variant');
      this.value(type, 0, depth + 1);
    } else if (code === 'a') {
      this.#array(signature, at + 1, depth);
    } else {
      this.#struct(signature, at, depth);
    }
  }

  #struct(signature: string, at: number, depth: number): void {
    const end = typeEnd(signature, at, depth) - 1;
    this.#align(8);
    for (let member = at + 1; member < end; member = typeEnd(signature, member)) {
      this.value(signature, member, depth + 1);
    }
  }

  #array(signature: string, element: number, depth: number): void {
    typeEnd(signature, element);
    const bytes = this.#word();
    const code = signature[element] ?? '';
    this.#align(ALIGNMENT[code] ?? 1);
    const end = this.#at + bytes;
    if (end > this.#bytes.length) throw new MalformedMessage('an array longer than the message');
    const fixed = FIXED_BYTES[code];
    if (fixed !== undefined && bytes % fixed === 0) this.#at = end;
    while (this.#at < end) this.value(signature, element, depth + 1);
    if (this.#at !== end) throw new MalformedMessage('an array that ends inside an element');
  }

  #signature(): string {
    const length = this.#bytes[this.#step(1)] ?? 0;
    const at = this.#text(length);
    return this.#bytes.toString('latin1', at, at + length);
  }

  /** A string of `length` bytes and its NUL; gives where it begins. */
  #text(length: number): number {
    const at = this.#step(length + 1);
    if (this.#bytes[at + length] !== 0) throw new MalformedMessage('a string without its end');
    return at;
  }

  #word(): number {
    this.#align(4);
    const at = this.#step(4);
    return this.#littleEndian ? this.#bytes.readUInt32LE(at) : this.#bytes.readUInt32BE(at);
  }

  #align(to: number): void {
    this.#at = align(this.#at, to);
    if (this.#at > this.#bytes.length) throw new MalformedMessage('the message is too short');
  }

  /** Goes on by `bytes` and gives where it was. */
  #step(bytes: number): number {
    const at = this.#at;
    this.#at += bytes;
    if (this.#at > this.#bytes.length) throw new MalformedMessage('the message is too short');
    return at;
  }
}
