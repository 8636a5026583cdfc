// Writes log lines to standard output at once, and never waits. With a full disk or a blocked reader it loses lines but does not
// stop the service: pino's own destination would retry for ever on the main thread (measured).

import { Buffer } from 'node:buffer';
import { constants, fstatSync, openSync, type Stats, writeSync } from 'node:fs';
import { Socket } from 'node:net';

export const STDOUT = 1;

/** Writes to a file descriptor; throws like writeSync(2). Returns the number of bytes written, which may be fewer. */
export type WriteBytes = (bytes: Uint8Array) => number;

/** Files never block; sockets and pipes are made non-blocking. A terminal that is stopped (^S) still blocks the service. */
export function standardOutput(): WriteBytes {
  const kind = kindOfOutput();
  if (kind?.isSocket()) stopBlocking();
  const fd = (kind?.isFIFO() && reopened()) || STDOUT;
  return (bytes) => writeSync(fd, bytes);
}

function kindOfOutput(): Stats | undefined {
  try {
    return fstatSync(STDOUT);
  } catch {
    // Without standard output each line is lost and counted.
    return undefined;
  }
}

/**
 * A stream socket is journald's, which may stop reading. Node makes a socket non-blocking by wrapping it; the wrapper lives as
 * long as the process. Node cannot wrap other kinds of socket; they stay blocking.
 */
function stopBlocking(): void {
  try {
    new Socket({ fd: STDOUT, readable: false }).unref();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}

/** Opens the pipe again without blocking: the flag belongs to the open file, which other processes may share. */
function reopened(): number | undefined {
  try {
    return openSync(`/proc/self/fd/${STDOUT}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // Without /proc the original must do.
    return undefined;
  }
}

/** Counts lines that could not be written, and writes the count as soon as there is room again. */
export class LogOutput {
  readonly #write: WriteBytes;
  readonly #shape: (line: string) => string;
  #lost = 0;
  /** The unwritten rest of a line, at most of one: until it is written, other lines are lost. */
  #rest: Uint8Array = new Uint8Array();

  /** `shape` converts each line before it is written. */
  constructor(write: WriteBytes, shape: (line: string) => string = (line) => line) {
    this.#write = write;
    this.#shape = shape;
  }

  /** `line` is JSON and ends with a line feed. Never throws. */
  write(line: string): void {
    if (this.#lost > 0 && this.#take(`{"level":"warn","lost":${this.#lost},"msg":"log lines were lost"}\n`)) {
      this.#lost = 0;
    }
    if (!this.#take(line)) this.#lost += 1;
  }

  /** True if the line was written at least in part; the rest is written before the next line. */
  #take(line: string): boolean {
    try {
      if (this.#rest.length > 0) this.#rest = this.#rest.subarray(this.#write(this.#rest));
      if (this.#rest.length > 0) return false;
      const bytes = Buffer.from(this.#shape(line));
      this.#rest = bytes.subarray(this.#write(bytes));
      return true;
    } catch {
      return false;
    }
  }
}
