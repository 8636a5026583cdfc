// Skips bad messages from the bus, reports late ones, and can pause dbus-next's reading. This file replaces
// methods of the connection's stream. It knows how dbus-next reads this stream, but not what messages
// contain.

import type { Socket } from 'node:net';

/** The size of a message's fixed header. The message's fields and body follow. */
const HEADER_BYTES = 16;

/**
 * Skips each message at which dbus-next throws, or that is larger than `messageMaxBytes`. Anybody may send
 * such a message over the system bus, and it must end neither the thread nor the connection.
 */
export function skipBadMessages(stream: Socket, messageMaxBytes: number): void {
  // dbus-next's parser runs inside the event `readable`, and throws there.
  const emit = stream.emit.bind(stream) as (event: string | symbol, ...args: unknown[]) => boolean;
  stream.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    for (;;) {
      try {
        return emit(event, ...args);
      } catch (error) {
        if (event !== 'readable') throw error;
        // dbus-next has read the message at which it threw, for instance one with a file descriptor
        // (docs/development/what-we-learnt.md, "dbus-next"). The event is emitted again, because the next
        // message may be there already.
      }
    }
  };
  // For each message the parser calls `read` twice: for the 16 bytes of the header, and for the rest in one
  // piece.
  const read = stream.read.bind(stream);
  /** The number of bytes that have been skipped of the present message; 0 if this message is not skipped. */
  let skippedBytes = 0;
  stream.read = (size?: number): unknown => {
    if (size === undefined || size <= messageMaxBytes) return read(size);
    // The message is read in the pieces that are there, so that it is never in memory as a whole. After
    // null, the parser requests the same size again at the next event `readable`.
    const chunk: unknown = read(Math.min(size - skippedBytes, stream.readableLength));
    if (chunk instanceof Buffer) skippedBytes += chunk.length;
    if (skippedBytes < size) return null;
    skippedBytes = 0;
    // For dbus-next the empty buffer is a message without fields. dbus-next refuses it with an event `error`.
    // After the bus's reply to Hello, this event does not end the connection (`#onError` in connection.ts).
    return Buffer.alloc(0);
  };
}

/**
 * Calls `onLate` when a message has begun but not ended in time. dbus-next reads a message's header, then
 * its rest, and gets null until all bytes that it has requested are there. The handshake before the first
 * message is read byte by byte, so it starts no timer here; it has a deadline of its own.
 */
export function reportLateMessages(stream: Socket, deadlineMs: number, onLate: () => void): void {
  const read = stream.read.bind(stream);
  let timer: NodeJS.Timeout | undefined;
  /** True after a header, until the rest of its message has been read. */
  let isInMessage = false;
  const clearTimer = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  stream.read = (size?: number): unknown => {
    const bytes: unknown = read(size);
    if (bytes === null) {
      const hasBegun = isInMessage || stream.readableLength > 0;
      if (hasBegun) timer ??= setTimeout(onLate, deadlineMs);
      return null;
    }
    // The rest of a message may have the size of a header, so the size alone does not show that the bytes
    // are a header. A header does not stop the timer, because the rest must come in time, too.
    const isHeader = size === HEADER_BYTES && !isInMessage;
    isInMessage = isHeader;
    if (!isInMessage) clearTimer();
    return bytes;
  };
  stream.once('close', clearTimer);
}

/**
 * Gives dbus-next nothing to read while `isPaused` returns true. dbus-next continues to read at the next
 * event `readable`.
 */
export class PausableReading {
  #lastReadBytes = 0;

  constructor(stream: Socket, isPaused: () => boolean) {
    const read = stream.read.bind(stream);
    stream.read = (size?: number): unknown => {
      if (isPaused()) return null;
      const bytes: unknown = read(size);
      if (bytes instanceof Buffer) this.#lastReadBytes = bytes.length;
      return bytes;
    };
  }

  /**
   * The size in bytes of the message that dbus-next is emitting, without the message's fixed header. Valid
   * only while dbus-next emits the message.
   */
  get lastMessageBytes(): number {
    return this.#lastReadBytes;
  }
}
