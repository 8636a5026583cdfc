// Bytes of the sound server's protocol, written down by hand: independent of src/protocol, so that a mistake there
// cannot hide here. Only what a client that plays needs.

/** Protocol version that the packets are written for. */
export const PROTOCOL_VERSION = 32;

const CONTROL_CHANNEL = 0xffffffff;
const DESCRIPTOR_BYTES = 20;

const tag = (letter: string): Buffer => Buffer.from(letter, 'latin1');

function bigEndian(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export const u32 = (value: number): Buffer => Buffer.concat([tag('L'), bigEndian(value)]);

export const boolean = (value: boolean): Buffer => tag(value ? '1' : '0');

/** A string without its value is the tag `N`. */
export const string = (value?: string): Buffer =>
  value === undefined ? tag('N') : Buffer.concat([tag('t'), Buffer.from(`${value}\0`, 'utf8')]);

export const bytes = (value: Buffer): Buffer => Buffer.concat([tag('x'), bigEndian(value.length), value]);

/** 16-bit little-endian samples. */
export const sampleSpec = (channels: number, rate: number): Buffer =>
  Buffer.concat([tag('a'), Buffer.from([3, channels]), bigEndian(rate)]);

/** One channel is mono (0), more are front-left (1), front-right (2) and so on. */
export const channelMap = (channels: number): Buffer =>
  Buffer.concat([
    tag('m'),
    Buffer.from([channels, ...Array.from({ length: channels }, (_, i) => (channels === 1 ? 0 : i + 1))]),
  ]);

/** 0x10000 is 100 %. */
export const volumes = (values: readonly number[]): Buffer =>
  Buffer.concat([tag('v'), Buffer.from([values.length]), ...values.map(bigEndian)]);

/** A text, or any bytes. */
export const properties = (entries: Readonly<Record<string, string | Buffer>>): Buffer =>
  Buffer.concat([
    tag('P'),
    ...Object.entries(entries).flatMap(([key, value]) => {
      const raw = Buffer.concat([Buffer.from(value), Buffer.from([0])]);
      return [string(key), u32(raw.length), bytes(raw)];
    }),
    tag('N'),
  ]);

/** An empty list of formats: the server takes the sample specification. */
export const noFormats = (): Buffer => Buffer.concat([tag('B'), Buffer.from([0])]);

/** A whole control packet. */
export function packet(command: number, requestTag: number, fields: readonly Buffer[]): Buffer {
  const payload = Buffer.concat([u32(command), u32(requestTag), ...fields]);
  const descriptor = Buffer.alloc(DESCRIPTOR_BYTES);
  descriptor.writeUInt32BE(payload.length, 0);
  descriptor.writeUInt32BE(CONTROL_CHANNEL, 4);
  return Buffer.concat([descriptor, payload]);
}

/** The received bytes, cut into payloads of control packets; `rest` is the beginning of the next packet. */
export function split(received: Buffer): { readonly payloads: readonly Buffer[]; readonly rest: Buffer } {
  const payloads: Buffer[] = [];
  let rest = received;
  while (rest.length >= DESCRIPTOR_BYTES) {
    const end = DESCRIPTOR_BYTES + rest.readUInt32BE(0);
    if (rest.length < end) break;
    if (rest.readUInt32BE(4) === CONTROL_CHANNEL) payloads.push(rest.subarray(DESCRIPTOR_BYTES, end));
    rest = rest.subarray(end);
  }
  return { payloads, rest };
}
