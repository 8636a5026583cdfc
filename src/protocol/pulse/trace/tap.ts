// Reads along in one direction's bytes, in pieces of any size: cuts frames, passes commands on, and declines shared memory, which is its
// only change to the bytes. Kept bytes are without the cookie. It does not buffer audio data, and ignores the bytes of a stream that is
// no longer understood.

import { FROM_SERVER, HANDSHAKE } from '../commands.js';
import { CONTROL_CHANNEL, HEADER_BYTES, PAYLOAD_MAX_BYTES, STAGING_MIN_BYTES } from '../frame.js';
import { TAG } from '../wire.js';
import type { Side } from './conversation.js';

/** The header of a frame with audio data. */
export interface Block {
  readonly channel: number;
  /** Bytes, relative to the position given by `seek`. */
  readonly offset: number;
  readonly length: number;
  readonly seek: string | number;
}

/** A frame that has passed completely, in the form used by the tests' captures. */
export interface FrameEntry {
  /** The header's position in the kept bytes. */
  readonly offset: number;
  /** Size of the payload in bytes. */
  readonly payload: number;
  readonly channel: number;
  readonly command?: number;
  readonly tag?: number;
}

export interface TapEvents {
  /** The payload is valid during the call only. */
  command(payload: Uint8Array, declined: readonly string[]): void;
  block(block: Block): void;
  /** The bytes are no longer valid frames: they pass, and are neither read nor kept. */
  lost(reason: string): void;
  /** Bytes in order, valid during the call only. */
  keep(bytes: Uint8Array): void;
  kept(frame: FrameEntry): void;
}

/** Positions in a header. The highest bits of the flags belong to shared memory, which is declined. */
const OFFSET_AT = 8;
const SEEK_AT = 19;
/** Names of PA_SEEK_*. */
const SEEKS = ['relative', 'absolute', 'relative-on-read', 'relative-end'];
/** Positions in a command's frame: the type bytes of code, tag and, in AUTH and its reply, version; then the version's highest byte. */
const CODE_AT = HEADER_BYTES;
const TAG_AT = CODE_AT + 5;
const VERSION_AT = TAG_AT + 5;
const FLAGS_AT = VERSION_AT + 1;
/** After the version: the cookie's type tag and length, then the cookie. */
const COOKIE_AT = VERSION_AT + 5;
const COOKIE_BYTES_AT = COOKIE_AT + 5;
const HEAD_BYTES = COOKIE_AT + 1;

/** Flags in the version's highest byte. A trace can neither pass descriptors on nor look into shared memory. */
const DECLINED = [
  [0x80, 'shm'],
  [0x40, 'memfd'],
] as const;
const DECLINED_BITS = DECLINED.reduce((bits, [bit]) => bits | bit, 0);

const NOTHING = Buffer.alloc(0);

/** Why no frame can begin in this way; undefined if one can. */
function malformed(length: number, hasFlags: boolean): string | undefined {
  if (length === 0 || length > PAYLOAD_MAX_BYTES) return `a frame of ${length} bytes`;
  return hasFlags ? 'a command frame with an offset or flags' : undefined;
}

export class Tap {
  readonly #from: Side;
  readonly #events: TapEvents;
  /** The first bytes of the current frame, as received. */
  readonly #head = Buffer.alloc(HEAD_BYTES);
  /** Bytes of the current frame that have passed, and its length, once its header is complete. */
  #seen = 0;
  #size: number | undefined;
  #channel = CONTROL_CHANNEL;
  /** The received part of a command's payload. */
  #payload = NOTHING;
  /** Bytes of complete frames. */
  #bytes = 0;
  #commands = 0;
  #lost = false;

  constructor(from: Side, events: TapEvents) {
    this.#from = from;
    this.#events = events;
  }

  /** Takes the next bytes, and changes them in place. */
  push(chunk: Buffer): void {
    for (let rest = chunk; rest.length > 0 && !this.#lost; ) {
      const piece = rest.subarray(0, (this.#size ?? HEADER_BYTES) - this.#seen);
      rest = rest.subarray(piece.length);
      this.#piece(piece);
    }
  }

  /** A piece of one frame, within its header or after it. */
  #piece(piece: Buffer): void {
    const start = this.#seen;
    if (start < HEAD_BYTES) piece.copy(this.#head, start);
    this.#seen += piece.length;
    if (this.#size === undefined) {
      if (this.#seen === HEADER_BYTES) this.#header();
      return;
    }
    if (this.#channel === CONTROL_CHANNEL) this.#commandPiece(piece, start);
    else this.#events.keep(piece);
    if (this.#seen === this.#size) this.#end(this.#size);
  }

  #header(): void {
    const head = this.#head.subarray(0, HEADER_BYTES);
    const [length, channel] = [head.readUInt32BE(0), head.readUInt32BE(4)];
    const isCommand = channel === CONTROL_CHANNEL;
    const reason = malformed(length, isCommand && head.subarray(OFFSET_AT).some((byte) => byte !== 0));
    if (reason !== undefined) {
      this.#lost = true;
      this.#payload = NOTHING;
      this.#events.lost(reason);
      return;
    }
    this.#size = HEADER_BYTES + length;
    this.#channel = channel;
    this.#events.keep(head);
    if (isCommand) return;
    const seek = head.readUInt8(SEEK_AT);
    const offset = Number(head.readBigInt64BE(OFFSET_AT));
    this.#events.block({ channel, offset, length, seek: SEEKS[seek] ?? seek });
  }

  #commandPiece(piece: Buffer, start: number): void {
    const at = FLAGS_AT - start;
    const flags = this.#saysVersion() ? piece[at] : undefined;
    if (flags !== undefined) piece[at] = flags & ~DECLINED_BITS;
    this.#stage(piece, start - HEADER_BYTES);
    this.#events.keep(this.#isAuth() ? this.#withoutCookie(piece, start) : piece);
  }

  /** Takes a piece of a command's payload, which is delivered with its last one. */
  #stage(piece: Buffer, at: number): void {
    const length = (this.#size ?? 0) - HEADER_BYTES;
    if (piece.length === length) {
      this.#deliver(piece);
      return;
    }
    const end = at + piece.length;
    if (end > this.#payload.length) {
      const grown = Buffer.alloc(
        Math.min(length, Math.max(end, STAGING_MIN_BYTES, 2 * this.#payload.length)),
      );
      this.#payload.copy(grown, 0, 0, at);
      this.#payload = grown;
    }
    piece.copy(this.#payload, at);
    if (end < length) return;
    const payload = this.#payload;
    this.#payload = NOTHING;
    this.#deliver(payload.subarray(0, length));
  }

  #deliver(payload: Buffer): void {
    const flags = this.#saysVersion() ? (this.#head[FLAGS_AT] ?? 0) : 0;
    this.#events.command(
      payload,
      DECLINED.filter(([bit]) => (flags & bit) !== 0).map(([, name]) => name),
    );
    this.#commands += 1;
  }

  #end(size: number): void {
    const hasCode =
      this.#channel === CONTROL_CHANNEL && this.#head[CODE_AT] === TAG.u32 && size >= VERSION_AT;
    this.#events.kept({
      offset: this.#bytes,
      payload: size - HEADER_BYTES,
      channel: this.#channel,
      ...(hasCode && {
        command: this.#head.readUInt32BE(CODE_AT + 1),
        tag: this.#head.readUInt32BE(TAG_AT + 1),
      }),
    });
    this.#bytes += size;
    this.#seen = 0;
    this.#size = undefined;
  }

  /** True if the current frame is AUTH, or its reply: the server's first reply, because it sends none before. */
  #saysVersion(): boolean {
    const isReply = this.#from === 'server' && this.#commands === 0 && this.#code() === FROM_SERVER.REPLY;
    return (isReply || this.#isAuth()) && this.#seen > VERSION_AT && this.#head[VERSION_AT] === TAG.u32;
  }

  #isAuth(): boolean {
    return this.#from === 'client' && this.#code() === HANDSHAKE.AUTH.code;
  }

  #code(): number | undefined {
    const isKnown = this.#seen >= TAG_AT && this.#head[CODE_AT] === TAG.u32;
    return isKnown ? this.#head.readUInt32BE(CODE_AT + 1) : undefined;
  }

  /** Zeros from the cookie's bytes on; if there is no valid cookie, from the version on. */
  #withoutCookie(piece: Buffer, start: number): Buffer {
    const isUsual = this.#seen > COOKIE_AT && this.#head[COOKIE_AT] === TAG.bytes;
    const from = Math.max(0, (isUsual ? COOKIE_BYTES_AT : COOKIE_AT) - start);
    return from >= piece.length ? piece : Buffer.from(piece).fill(0, from);
  }
}
