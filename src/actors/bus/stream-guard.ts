// What a bus sends, on its way to dbus-next, which reads it from the connection's stream: what that could not take or would wait for in
// vain. It knows of the stream what dbus-next does with it, and nothing of messages.

import type { Socket } from 'node:net';

/** Of a message; its fields and body follow. */
const HEADER_BYTES = 16;

/**
 * Anybody may send us a message over the system's bus. One that dbus-next cannot take, or that is too large for us, costs
 * that message, and neither the thread nor the connection. dbus-next's parser runs inside the event `readable` and pulls with
 * read(n): 16 bytes of header, and then all that follows in one piece.
 */
export function guardStream(stream: Socket, messageMaxBytes: number): void {
  const emit = stream.emit.bind(stream) as (event: string | symbol, ...args: unknown[]) => boolean;
  stream.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    for (;;) {
      try {
        return emit(event, ...args);
      } catch (error) {
        if (event !== 'readable') throw error;
        // It threw at a message that it has taken (a file descriptor, measured). The next one may lie behind it.
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
 * Calls `late` when a message has begun and has not ended in time. dbus-next reads header and rest in turns, and gets null as long as
 * what it asks for is not all there; the handshake, which has a deadline of its own, is read byte by byte.
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
