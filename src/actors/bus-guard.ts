// Stands between a bus's socket and dbus-next's parser: nothing that arrives can throw out of the event loop, and no message
// is parsed whose bytes have not been checked. It knows how dbus-next 0.10.2 reads, and nothing about what is said.

import type { Socket } from 'node:net';
import { checkRest, HEADER_BYTES, type Header, MalformedMessage, readHeader } from './bus-bytes.js';

/** The handshake is a few lines; dbus-next would collect an endless one byte by byte. */
const HANDSHAKE_MAX_BYTES = 4096;
/** A message that began and does not end: the bus writes messages whole, so nothing more will come. */
const STALLED_MESSAGE_MS = 10_000;

export interface GuardHooks {
  /** The bus breaks the protocol: the connection is of no more use. */
  refuse(reason: string): void;
  /** dbus-next did not like a message, or a listener failed. The next message is read as if nothing had been. */
  dropped(reason: string): void;
}

/**
 * The parser runs inside the socket's `readable` event and pulls with `read(n)`: one byte at a time in the handshake, then
 * 16 bytes of header, then the rest in one piece. Wrapping `emit` catches whatever it throws, where a process-wide handler
 * could not tell whose it was; wrapping `read` shows each message before it is parsed.
 */
export function guardStream(stream: Socket, hooks: GuardHooks): void {
  const emit = stream.emit.bind(stream) as (event: string | symbol, ...args: unknown[]) => boolean;
  stream.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    try {
      return emit(event, ...args);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (error instanceof MalformedMessage) hooks.refuse(reason);
      else hooks.dropped(reason);
      // The exception ended the parser's loop; what has arrived behind that message still waits for it.
      if (event === 'readable' && stream.readableLength > 0) setImmediate(() => stream.emit('readable'));
      return true;
    }
  };
  const read = stream.read.bind(stream);
  const watch = new MessageWatch(hooks);
  stream.read = (size?: number): unknown => {
    const chunk: unknown = read(size);
    watch.saw(size ?? 0, chunk instanceof Buffer ? chunk : undefined);
    return chunk;
  };
  stream.once('close', () => watch.stop());
}

/** Follows the parser's reads from message to message; throws MalformedMessage into it. */
class MessageWatch {
  readonly #hooks: GuardHooks;
  #handshakeBytes = 0;
  #header: Header | undefined;
  #stalled: NodeJS.Timeout | undefined;

  constructor(hooks: GuardHooks) {
    this.#hooks = hooks;
  }

  /** `size` is what was asked for, `chunk` what came of it, if enough was there. */
  saw(size: number, chunk: Buffer | undefined): void {
    if (this.#header !== undefined) this.#rest(this.#header, size, chunk);
    else if (chunk === undefined) return;
    else if (size === HEADER_BYTES) this.#header = readHeader(chunk);
    else this.#handshake(chunk.length);
  }

  stop(): void {
    clearTimeout(this.#stalled);
    this.#stalled = undefined;
  }

  #handshake(bytes: number): void {
    this.#handshakeBytes += bytes;
    if (this.#handshakeBytes > HANDSHAKE_MAX_BYTES) throw new MalformedMessage('an endless handshake');
  }

  #rest(header: Header, size: number, chunk: Buffer | undefined): void {
    if (size !== header.restBytes) return; // The stream's own read(0).
    if (chunk === undefined) {
      this.#stalled ??= setTimeout(
        () => this.#hooks.refuse('a message that does not end'),
        STALLED_MESSAGE_MS,
      );
      return;
    }
    this.stop();
    this.#header = undefined;
    checkRest(header, chunk);
  }
}
