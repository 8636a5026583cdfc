// Cuts received bytes into frames. A frame is a header of 20 bytes and a payload. This file does not know
// what a payload contains.

import { WireError } from './wire.js';

/** Five words of 32 bits, big-endian: payload length, channel, offset (two words), flags. */
export const HEADER_BYTES = 20;
/**
 * The channel of commands, replies and events. Any other channel is the index of a stream, and the frame has
 * audio data of this stream.
 */
export const CONTROL_CHANNEL = 0xffffffff;
/**
 * PulseAudio, PipeWire and libpulse end the connection after a payload that is longer than this, or empty.
 * Real payloads are much shorter: a list of 200 sink inputs has 0.3 MB.
 */
export const PAYLOAD_MAX_BYTES = 16 * 1024 * 1024;
/**
 * A frame that comes in pieces first gets a buffer for its header only. When the header is complete, the
 * frame gets another buffer. For a frame that is shorter than this size, the buffer has the length of the
 * frame. For a longer frame, the buffer has at least this size, and doubles as bytes arrive. It does not have
 * the whole length at once, because a header may announce more bytes than ever come.
 */
const STAGING_MIN_BYTES = 4096;

/**
 * Received bytes, with two views of them. To make the views takes as much time as to handle a frame. So
 * actors/dial.ts reads everything into the same buffer, and `Framer` makes the views of this buffer only
 * once.
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
 * `push` takes, not a copy. If the caller of `push` later overwrites these bytes, as actors/dial.ts does,
 * this function must not keep the payload.
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
  /** The buffer for a frame that comes in pieces. Its first `#stagedBytes` bytes have been received. */
  #staging: Uint8Array = NO_BYTES;
  #stagedBytes = 0;
  /** The header of the frame in `#staging`; undefined until the header is complete. */
  #header: FrameHeader | undefined;
  /** The bytes of the last `push`, and the chunk that was made of them. */
  #lastReceived: Uint8Array = NO_BYTES;
  #chunk = new Chunk(NO_BYTES);

  /**
   * Takes the first `length` bytes of `received`, and delivers the frames that they complete, in order.
   * Throws WireError for a header that no server may send, because the start of the next frame is then
   * unknown.
   */
  push(received: Uint8Array, deliver: Deliver, length = received.length): void {
    if (received !== this.#lastReceived) this.#chunk = new Chunk(received);
    this.#lastReceived = received;
    const chunk = this.#chunk;
    let start = 0;
    while (start < length) {
      const isFrameStart = this.#stagedBytes === 0;
      const hasWholeHeader = isFrameStart && length - start >= HEADER_BYTES;
      const header = hasWholeHeader ? readHeader(chunk.view, start) : undefined;
      // `header` is undefined in two cases: the remaining bytes continue the frame in `#staging`, or they are
      // less than a header. In both cases they go to `#staging`, and `end` has no meaning.
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
   * Adds bytes to the frame that comes in pieces: first up to the end of the header, in later calls up to the
   * end of the frame. Delivers the frame when it is complete. Returns how many bytes it has taken.
   */
  #stage(bytes: Uint8Array, deliver: Deliver): number {
    const targetBytes = HEADER_BYTES + (this.#header?.length ?? 0);
    const copied = bytes.subarray(0, targetBytes - this.#stagedBytes);
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

  /** Makes room for `neededBytes` in `#staging`, which never gets longer than `targetBytes`. */
  #reserve(neededBytes: number, targetBytes: number): void {
    if (neededBytes <= this.#staging.length) return;
    const roomyLength = Math.max(neededBytes, STAGING_MIN_BYTES, 2 * this.#staging.length);
    const grown = new Uint8Array(Math.min(roomyLength, targetBytes));
    grown.set(this.#staging.subarray(0, this.#stagedBytes));
    this.#staging = grown;
  }
}
