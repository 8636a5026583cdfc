// Cuts the byte stream into frames, each of which is a header of 20 bytes and the payload. It does not know
// what a payload contains.

import { WireError } from './wire.js';

/** Five words of 32 bits, big-endian: payload length, channel, offset (two words), flags. */
export const HEADER_BYTES = 20;
/** The channel of commands. Any other channel is a stream's index, and the frame has its audio data. */
export const CONTROL_CHANNEL = 0xffffffff;
/**
 * PulseAudio, PipeWire and libpulse end the connection after a payload that is longer than this, or empty.
 * Real payloads are much shorter: a list of 200 sink inputs has 0.3 MB.
 */
export const PAYLOAD_MAX_BYTES = 16 * 1024 * 1024;
/**
 * A frame that comes in pieces first gets a buffer for its header only. When the header is complete, a frame
 * that is shorter than this gets a buffer of its own length. A longer frame gets a buffer of at least this
 * size, which doubles as bytes arrive. It does not get its whole length at once, because a header may
 * announce more bytes than ever come.
 */
const STAGING_MIN_BYTES = 4096;

/**
 * Received bytes, with two views of them. To make the views costs as much as to handle a frame. So
 * actors/dial.ts reads everything into one buffer, whose views are made once.
 */
export class Chunk {
  readonly bytes: Buffer;
  readonly view: DataView;

  constructor({ buffer, byteOffset, byteLength }: Uint8Array) {
    this.bytes = Buffer.from(buffer, byteOffset, byteLength);
    this.view = new DataView(buffer, byteOffset, byteLength);
  }
}

const NO_BYTES = new Uint8Array(0);

interface FrameHeader {
  readonly length: number;
  readonly channel: number;
}

/**
 * Receives a frame's payload, which is [start, end) of the chunk. The chunk may be a view of the bytes that
 * `push` takes, not a copy. If the caller of `push` later reads other bytes into their memory, as
 * actors/dial.ts does, the payload must not be used after this function has returned.
 */
type Deliver = (chunk: Chunk, start: number, end: number, channel: number) => void;

function readHeader(view: DataView, start: number): FrameHeader {
  const length = view.getUint32(start);
  if (length === 0 || length > PAYLOAD_MAX_BYTES) throw new WireError(`a frame of ${length} bytes`);
  const channel = view.getUint32(start + 4);
  if (channel !== CONTROL_CHANNEL) return { length, channel };
  // Offset and flags are for audio data, and for shared memory, which the handshake has excluded.
  const hasOffset = view.getUint32(start + 8) !== 0 || view.getUint32(start + 12) !== 0;
  const hasFlags = view.getUint32(start + 16) !== 0;
  if (hasOffset || hasFlags) throw new WireError('a command frame with an offset or flags');
  return { length, channel };
}

export class Framer {
  /** The first `#stagedBytes` bytes of a frame that comes in pieces, header included. */
  #staging: Uint8Array = NO_BYTES;
  #stagedBytes = 0;
  /** The header of the frame in `#staging`, once the header is complete. */
  #header: FrameHeader | undefined;
  /** The last received bytes, and the chunk with the views that were made of them. */
  #received: Uint8Array = NO_BYTES;
  #chunk = new Chunk(NO_BYTES);

  /**
   * Takes the first `length` bytes and delivers the frames that they complete, in order. Throws WireError
   * for a header that no server may send, because where the next frame begins is then unknown.
   */
  push(received: Uint8Array, deliver: Deliver, length = received.length): void {
    if (received !== this.#received) this.#chunk = new Chunk(received);
    this.#received = received;
    const chunk = this.#chunk;
    let start = 0;
    while (start < length) {
      const isFrameStart = this.#stagedBytes === 0;
      const hasWholeHeader = isFrameStart && length - start >= HEADER_BYTES;
      const header = hasWholeHeader ? readHeader(chunk.view, start) : undefined;
      // `header` is undefined in two cases: these bytes go on with the frame in `#staging`, or they are less
      // than a header. In both cases they go to `#staging`, and `end` has no meaning.
      const end = start + HEADER_BYTES + (header?.length ?? 0);
      if (header === undefined || end > length) {
        start += this.#stage(received.subarray(start, length), deliver);
      } else {
        // The chunk has the whole frame, so no byte is copied.
        deliver(chunk, start + HEADER_BYTES, end, header.channel);
        start = end;
      }
    }
  }

  /**
   * Adds bytes to the frame that comes in pieces: first up to the end of the header, in later calls up to
   * the end of the frame. Delivers the frame when it is complete. Returns how many bytes were taken.
   */
  #stage(received: Uint8Array, deliver: Deliver): number {
    const targetBytes = HEADER_BYTES + (this.#header?.length ?? 0);
    const copied = received.subarray(0, targetBytes - this.#stagedBytes);
    this.#reserve(this.#stagedBytes + copied.length, targetBytes);
    this.#staging.set(copied, this.#stagedBytes);
    this.#stagedBytes += copied.length;
    if (this.#stagedBytes < targetBytes) return copied.length;
    if (this.#header === undefined) {
      this.#header = readHeader(new Chunk(this.#staging).view, 0);
      return copied.length;
    }
    const { channel } = this.#header;
    const staged = new Chunk(this.#staging);
    // The next frame gets another buffer, because `deliver` may keep this one (cli/trace/proxy.ts).
    this.#staging = NO_BYTES;
    this.#stagedBytes = 0;
    this.#header = undefined;
    deliver(staged, HEADER_BYTES, targetBytes, channel);
    return copied.length;
  }

  /** Makes room for `neededBytes` in the buffer, which never gets longer than `targetBytes`. */
  #reserve(neededBytes: number, targetBytes: number): void {
    if (neededBytes <= this.#staging.length) return;
    const doubled = Math.max(neededBytes, STAGING_MIN_BYTES, 2 * this.#staging.length);
    const grown = new Uint8Array(Math.min(doubled, targetBytes));
    grown.set(this.#staging.subarray(0, this.#stagedBytes));
    this.#staging = grown;
  }
}
