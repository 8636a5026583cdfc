// Cuts the byte stream into frames: 20 bytes of header, then the payload. It does not know what a payload
// contains.

import { WireError } from './wire.js';

/** Five u32, big-endian: payload length, channel, offset (two words), flags. */
export const HEADER_BYTES = 20;
/** The channel of commands. Any other number is a stream, and the frame carries its audio data. */
export const CONTROL_CHANNEL = 0xffffffff;
/** Both servers, and libpulse, end a connection above this. 200 sink inputs are 0.3 MB. */
export const PAYLOAD_MAX_BYTES = 16 * 1024 * 1024;
/**
 * The first buffer for a frame in pieces; it then doubles, so that a claimed length alone allocates nothing.
 */
const STAGING_MIN_BYTES = 4096;

/**
 * Received bytes with both views of them. All reads share one buffer, so that its views are made once: they
 * cost as much as a frame.
 */
export class Chunk {
  readonly bytes: Buffer;
  readonly view: DataView;

  constructor({ buffer, byteOffset, byteLength }: Uint8Array) {
    this.bytes = Buffer.from(buffer, byteOffset, byteLength);
    this.view = new DataView(buffer, byteOffset, byteLength);
  }
}

const NOTHING = new Uint8Array(0);

interface FrameHeader {
  readonly length: number;
  readonly channel: number;
}

/**
 * Takes a frame's payload: [start, end) of the chunk, valid during the call only. Its header stands before
 * it.
 */
type Deliver = (chunk: Chunk, start: number, end: number, channel: number) => void;

function readHeader(view: DataView, at: number): FrameHeader {
  const length = view.getUint32(at);
  if (length === 0 || length > PAYLOAD_MAX_BYTES) throw new WireError(`a frame of ${length} bytes`);
  const channel = view.getUint32(at + 4);
  if (channel !== CONTROL_CHANNEL) return { length, channel };
  // Offset and flags belong to audio data and to shared memory, which we did not agree to.
  if (view.getUint32(at + 8) !== 0 || view.getUint32(at + 12) !== 0 || view.getUint32(at + 16) !== 0)
    throw new WireError('a command frame with an offset or flags');
  return { length, channel };
}

export class Framer {
  /** An unfinished frame: header and payload so far, in the first `#staged` bytes. */
  #staging: Uint8Array = NOTHING;
  #staged = 0;
  #header: FrameHeader | undefined;
  #source: Uint8Array = NOTHING;
  #chunk = new Chunk(NOTHING);

  /**
   * Takes the first `length` bytes and delivers the frames that they complete, in order. Throws WireError for
   * a header that no server may send; the stream is then lost.
   */
  push(received: Uint8Array, deliver: Deliver, length = received.length): void {
    if (received !== this.#source) this.#chunk = new Chunk(received);
    this.#source = received;
    const chunk = this.#chunk;
    let at = 0;
    while (at < length) {
      // A frame that lies wholly in the chunk is delivered without a copy.
      const header = this.#staged > 0 || length - at < HEADER_BYTES ? undefined : readHeader(chunk.view, at);
      const end = at + HEADER_BYTES + (header?.length ?? 0);
      if (header === undefined || end > length) {
        at += this.#stage(received.subarray(at, length), deliver);
      } else {
        deliver(chunk, at + HEADER_BYTES, end, header.channel);
        at = end;
      }
    }
  }

  /**
   * Adds to a frame in pieces, first up to the end of its header, then up to its own. Returns the number of
   * bytes that it took.
   */
  #stage(received: Uint8Array, deliver: Deliver): number {
    const target = HEADER_BYTES + (this.#header?.length ?? 0);
    const copied = received.subarray(0, target - this.#staged);
    this.#reserve(this.#staged + copied.length, target);
    this.#staging.set(copied, this.#staged);
    this.#staged += copied.length;
    if (this.#staged < target) return copied.length;
    if (this.#header === undefined) {
      this.#header = readHeader(new Chunk(this.#staging).view, 0);
      return copied.length;
    }
    const { channel } = this.#header;
    const staged = new Chunk(this.#staging);
    // Forgotten before it is delivered, so that the next frame never writes into what a receiver may still
    // read.
    this.#staging = NOTHING;
    this.#staged = 0;
    this.#header = undefined;
    deliver(staged, HEADER_BYTES, target, channel);
    return copied.length;
  }

  #reserve(bytes: number, frameBytes: number): void {
    if (bytes <= this.#staging.length) return;
    const doubled = Math.max(bytes, STAGING_MIN_BYTES, 2 * this.#staging.length);
    const grown = new Uint8Array(Math.max(HEADER_BYTES, bytes, Math.min(doubled, frameBytes)));
    grown.set(this.#staging.subarray(0, this.#staged));
    this.#staging = grown;
  }
}
