// Where log lines go: standard output, written at once, and never waited for. A full disk or a reader that stands still
// costs lines, not the service: pino's own destination would try again for ever, on the main thread (measured).

import { constants, fstatSync, openSync, type Stats, writeSync } from 'node:fs';
import { Socket } from 'node:net';

const STDOUT = 1;

/** Writes text to a file descriptor; throws what writeSync(2) throws. Answers how many bytes were taken. */
export type WriteText = (text: string) => number;

/** The output of a process: files never block, what could is made not to. A terminal that is halted (^S) still holds up the service. */
export function standardOutput(): WriteText {
  const kind = kindOfOutput();
  if (kind?.isSocket()) stopBlocking();
  const fd = (kind?.isFIFO() && reopened()) || STDOUT;
  return (text) => writeSync(fd, text);
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
  readonly #write: WriteText;
  #lost = 0;

  constructor(write: WriteText) {
    this.#write = write;
  }

  /** `line` ends with a line feed. Never throws. */
  write(line: string): void {
    if (this.#lost > 0 && this.#take(`{"level":"warn","lost":${this.#lost},"msg":"log lines were lost"}\n`)) {
      this.#lost = 0;
    }
    if (!this.#take(line)) this.#lost += 1;
  }

  #take(line: string): boolean {
    try {
      // A line that was taken in part is broken already; the rest of it would only break the next one.
      return this.#write(line) > 0;
    } catch {
      return false;
    }
  }
}
