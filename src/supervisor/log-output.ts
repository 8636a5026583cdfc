// Where log lines go: standard output, written at once, and never waited for. A full disk or a reader that stands still
// costs lines, not the service: pino's own destination would try again for ever, on the main thread (measured).

import { Buffer } from 'node:buffer';
import { constants, fstatSync, openSync, type Stats, writeSync } from 'node:fs';
import { Socket } from 'node:net';

export const STDOUT = 1;

/** Writes to a file descriptor; throws what writeSync(2) throws. Answers how many bytes were taken, which may be fewer. */
export type WriteBytes = (bytes: Uint8Array) => number;

/** The output of a process: files never block, what could is made not to. A terminal that is halted (^S) still holds up the service. */
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
    // No standard output: each line will be lost and counted.
    return undefined;
  }
}

/**
 * A stream socket is journald's, which may stand still. Wrapping it is how Node makes one non-blocking; the wrapper lives as
 * long as the process. Node cannot wrap other kinds of socket, and they are left as they are.
 */
function stopBlocking(): void {
  try {
    new Socket({ fd: STDOUT, readable: false }).unref();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}

/** A pipe opened anew, without blocking: the flag belongs to the open file, and whoever shares the original must not be surprised. */
function reopened(): number | undefined {
  try {
    return openSync(`/proc/self/fd/${STDOUT}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // No /proc: the original is as good as it gets.
    return undefined;
  }
}

/** Lines that could not be written are counted, and the count is written as soon as there is room again. */
export class LogOutput {
  readonly #write: WriteBytes;
  readonly #shape: (line: string) => string;
  #lost = 0;
  /** What is still owed of a line that was taken in part. One line at most: until it is whole, others are lost. */
  #rest: Uint8Array = new Uint8Array();

  /** Each line is written as `shape` makes it. */
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

  /** True when the line has been written, or begun: what is missing of it comes before the next one. */
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
