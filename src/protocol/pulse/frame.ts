// Cuts the byte stream into frames: 20 bytes of header, then the payload. It does not know what a payload contains.

import { WireError } from './wire.js';

/** Five u32, big-endian: payload length, channel, offset (two words), flags. */
export const HEADER_BYTES = 20;
/** The channel of commands. Any other number is a stream, and the frame carries its audio data. */
export const CONTROL_CHANNEL = 0xffffffff;
/** Both servers, and libpulse, end a connection above this. 200 sink inputs are 0.3 MB. */
export const PAYLOAD_MAX_BYTES = 16 * 1024 * 1024;
/** The first buffer for a frame in pieces; it then doubles, so that a claimed length alone allocates nothing. */
const STAGING_MIN_BYTES = 4096;

const NOTHING = new Uint8Array(0);

interface FrameHeader {
  readonly length: number;
  readonly channel: number;
}

/** Takes a frame's payload and channel. The payload is valid during the call only, and its header stands before it. */
type Deliver = (payload: Uint8Array, channel: number) => void;

/** A delivered payload with its header. */
export function frameOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset - HEADER_BYTES, HEADER_BYTES + byteLength);
}

/** Byte by byte: a view of the header would take as long as everything else here. */
function readU32(bytes: Uint8Array, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}

function readHeader(bytes: Uint8Array, at = 0): FrameHeader {
  const length = readU32(bytes, at);
  if (length === 0 || length > PAYLOAD_MAX_BYTES) throw new WireError(`a frame of ${length} bytes`);
  const channel = readU32(bytes, at + 4);
  if (channel !== CONTROL_CHANNEL) return { length, channel };
  // Offset and flags belong to audio data and to shared memory, which we did not agree to.
  if (readU32(bytes, at + 8) !== 0 || readU32(bytes, at + 12) !== 0 || readU32(bytes, at + 16) !== 0) {
    throw new WireError('a command frame with an offset or flags');
  }
  return { length, channel };
}

export class Framer {
  /** An unfinished frame: header and payload so far, in the first `#held` bytes. */
  #staging: Uint8Array = NOTHING;
  #held = 0;
  #header: FrameHeader | undefined;

  /**
   * Takes the first `length` bytes of a chunk and delivers the frames that they complete, in order. Throws WireError for a header that no
   * server may send; the stream is then lost.
   */
  push(chunk: Uint8Array, deliver: Deliver, length = chunk.length): void {
    let at = 0;
    while (at < length) {
      // A frame that lies wholly in the chunk is delivered without a copy.
      const header = this.#held > 0 || length - at < HEADER_BYTES ? undefined : readHeader(chunk, at);
      const end = at + HEADER_BYTES + (header?.length ?? 0);
      if (header === undefined || end > length) {
        at += this.#stage(chunk.subarray(at, length), deliver);
      } else {
        deliver(chunk.subarray(at + HEADER_BYTES, end), header.channel);
        at = end;
      }
    }
  }

  /** Adds to a frame in pieces, first up to the end of its header, then up to its own. Returns the number of bytes that it took. */
  #stage(chunk: Uint8Array, deliver: Deliver): number {
    const target = HEADER_BYTES + (this.#header?.length ?? 0);
    const taken = chunk.subarray(0, target - this.#held);
    this.#reserve(this.#held + taken.length, target);
    this.#staging.set(taken, this.#held);
    this.#held += taken.length;
    if (this.#held < target) return taken.length;
    if (this.#header === undefined) {
      this.#header = readHeader(this.#staging);
      return taken.length;
    }
    const { channel } = this.#header;
    const payload = this.#staging.subarray(HEADER_BYTES, target);
    // Forgotten before it is delivered, so that the next frame never writes into what a receiver may still read.
    this.#staging = NOTHING;
    this.#held = 0;
    this.#header = undefined;
    deliver(payload, channel);
    return taken.length;
  }

  #reserve(bytes: number, frameBytes: number): void {
    if (bytes <= this.#staging.length) return;
    const doubled = Math.max(bytes, STAGING_MIN_BYTES, 2 * this.#staging.length);
    const grown = new Uint8Array(Math.max(HEADER_BYTES, bytes, Math.min(doubled, frameBytes)));
    grown.set(this.#staging.subarray(0, this.#held));
    this.#staging = grown;
  }
}
