// Reads along in one direction's bytes: passes whole frames on, and declines shared memory, which is its only change to them. Kept frames
// are without the cookie.

import { FROM_SERVER, HANDSHAKE } from '../commands.js';
import { CONTROL_CHANNEL, Framer, frameOf, HEADER_BYTES } from '../frame.js';
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

/** A frame, in the form used by the tests' captures. */
export interface FrameEntry {
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
  keep(bytes: Uint8Array, frame: FrameEntry): void;
  /** The frame as the other side gets it. */
  pass(bytes: Uint8Array): void;
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

/** Flags in the version's highest byte. A trace can neither pass descriptors on nor look into shared memory. */
const DECLINED = [
  [0x80, 'shm'],
  [0x40, 'memfd'],
] as const;

export class Tap {
  readonly #from: Side;
  readonly #events: TapEvents;
  readonly #framer = new Framer();
  #commands = 0;

  constructor(from: Side, events: TapEvents) {
    this.#from = from;
    this.#events = events;
  }

  /** Takes the next bytes, and may change them. Throws WireError for a header that neither side may send; nothing is passed from there on. */
  push(chunk: Uint8Array): void {
    this.#framer.push(chunk, (payload, channel) => {
      const frame = frameOf(payload);
      if (channel === CONTROL_CHANNEL) this.#command(frame);
      else this.#block(frame, channel);
      this.#events.pass(frame);
    });
  }

  #block(frame: Buffer, channel: number): void {
    const seek = frame.readUInt8(SEEK_AT);
    const length = frame.length - HEADER_BYTES;
    const offset = Number(frame.readBigInt64BE(OFFSET_AT));
    this.#events.block({ channel, offset, length, seek: SEEKS[seek] ?? seek });
    this.#events.keep(frame, { payload: length, channel });
  }

  #command(frame: Buffer): void {
    const payload = frame.subarray(HEADER_BYTES);
    const command = wordAt(frame, CODE_AT);
    const isAuth = this.#from === 'client' && command === HANDSHAKE.AUTH.code;
    // The reply to AUTH is the server's first, because it sends none before.
    const isFirst = this.#from === 'server' && this.#commands === 0 && command === FROM_SERVER.REPLY;
    this.#commands += 1;
    this.#events.command(payload, isAuth || isFirst ? declinedIn(frame) : []);
    const tag = wordAt(frame, TAG_AT);
    this.#events.keep(isAuth ? withoutCookie(frame) : frame, {
      ...{ payload: payload.length, channel: CONTROL_CHANNEL },
      ...(command !== undefined && tag !== undefined && { command, tag }),
    });
  }
}

/** The u32 whose tag is at that position; undefined if there is none. */
function wordAt(frame: Buffer, at: number): number | undefined {
  return frame[at] === TAG.u32 && frame.length >= at + 5 ? frame.readUInt32BE(at + 1) : undefined;
}

/** Clears the flags of shared memory in the version, and returns their names. */
function declinedIn(frame: Buffer): readonly string[] {
  if (wordAt(frame, VERSION_AT) === undefined) return [];
  const flags = frame.readUInt8(FLAGS_AT);
  const declined = DECLINED.filter(([bit]) => (flags & bit) !== 0);
  frame[FLAGS_AT] = declined.reduce((left, [bit]) => left & ~bit, flags);
  return declined.map(([, name]) => name);
}

/** Zeros from the cookie's bytes on; if there is no valid cookie, from the version on. */
function withoutCookie(frame: Buffer): Buffer {
  const isUsual = frame[COOKIE_AT] === TAG.bytes;
  return Buffer.from(frame).fill(0, isUsual ? COOKIE_BYTES_AT : COOKIE_AT);
}
