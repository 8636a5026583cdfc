// Guards dbus-next against incoming bytes: skips messages that it cannot take, notices messages that never
// end, and pauses. It knows how dbus-next reads the connection's stream, but nothing about the messages'
// content.

import type { Socket } from 'node:net';

/** A message's fixed header; its fields and body follow. */
const HEADER_BYTES = 16;

/**
 * Anybody may send us a message over the system bus. One that dbus-next cannot take, or that is too large for
 * us, must cost only that message, not the thread or the connection. dbus-next's parser runs inside the event
 * `readable` and pulls with read(n): first 16 bytes of header, then the rest in one piece.
 */
export function guardStream(stream: Socket, messageMaxBytes: number): void {
  const emit = stream.emit.bind(stream) as (event: string | symbol, ...args: unknown[]) => boolean;
  stream.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    for (;;) {
      try {
        return emit(event, ...args);
      } catch (error) {
        if (event !== 'readable') throw error;
        // dbus-next threw at a message that it has consumed, for instance one with a file descriptor
        // (docs/development/what-we-learnt.md, "dbus-next"). The next message may already be there.
      }
    }
  };
  const read = stream.read.bind(stream);
  let skippedBytes = 0;
  stream.read = (size?: number): unknown => {
    if (size === undefined || size <= messageMaxBytes) return read(size);
    const chunk: unknown = read(Math.min(size - skippedBytes, stream.readableLength));
    if (chunk instanceof Buffer) skippedBytes += chunk.length;
    if (skippedBytes < size) return null;
    skippedBytes = 0;
    // A message without fields: dbus-next refuses it with an `error`.
    return Buffer.alloc(0);
  };
}

/**
 * Calls `late` when a message has begun but not ended in time. dbus-next reads header and rest in turns, and
 * gets null until all bytes that it wants are there; the handshake, which has a deadline of its own, is read
 * byte by byte.
 */
export function boundMessages(stream: Socket, deadlineMs: number, late: () => void): void {
  const read = stream.read.bind(stream);
  let timer: NodeJS.Timeout | undefined;
  let isInside = false;
  const clear = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  stream.read = (size?: number): unknown => {
    const bytes: unknown = read(size);
    if (bytes === null) {
      if (isInside || stream.readableLength > 0) timer ??= setTimeout(late, deadlineMs);
      return null;
    }
    isInside = size === HEADER_BYTES && !isInside;
    if (!isInside) clear();
    return bytes;
  };
  stream.once('close', clear);
}

/**
 * Has dbus-next read nothing while `isPaused`; it goes on at the next `readable`. The returned function gives
 * the size of what it has read last: of a message that it has just handed on, all but the header.
 */
export function pauseReading(stream: Socket, isPaused: () => boolean): () => number {
  const read = stream.read.bind(stream);
  let lastBytes = 0;
  stream.read = (size?: number): unknown => {
    if (isPaused()) return null;
    const bytes: unknown = read(size);
    if (bytes instanceof Buffer) lastBytes = bytes.length;
    return bytes;
  };
  return () => lastBytes;
}
