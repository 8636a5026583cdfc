// Guards dbus-next against incoming bytes: skips messages that it cannot take. It knows how dbus-next reads the connection's stream, but
// nothing about the messages' content.

import type { Socket } from 'node:net';

/**
 * Anybody may send us a message over the system bus. One that dbus-next cannot take, or that is too large for us, must cost only that
 * message, not the thread or the connection. dbus-next's parser runs inside the event `readable` and pulls with read(n): first 16
 * bytes of header, then the rest in one piece.
 */
export function guardStream(stream: Socket, messageMaxBytes: number): void {
  const emit = stream.emit.bind(stream) as (event: string | symbol, ...args: unknown[]) => boolean;
  stream.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    for (;;) {
      try {
        return emit(event, ...args);
      } catch (error) {
        if (event !== 'readable') throw error;
        // It threw at a message that it has consumed (one with a file descriptor, measured). The next message may already be there.
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
