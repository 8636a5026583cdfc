// The log: one JSON object per line on standard output, which journald stores; on a terminal, lines for
// people. Lines are written at once and never wait: with a full disk or a blocked reader it loses lines but
// does not stop the service, where pino's own destination would retry for ever on the main thread (measured).
// The only file that knows pino.

import { constants, fstatSync, openSync, type Stats, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { isatty } from 'node:tty';
import { pino } from 'pino';
import { printable } from '../printable.js';
import type { Log, LogFields } from '../protocol/actor/messages.js';
import type { LogLevel } from '../protocol/actor/settings.js';

const STDOUT = 1;

/** Parameters of the escape sequence that chooses a colour (ECMA-48, SGR). */
const COLOURS = { fatal: 31, error: 31, warn: 33, info: 32, debug: 36, trace: 36 } as const;
const FAINT = 2;
const LEVEL_COLUMNS = 5;
/** The longest name of a backend. */
const BACKEND_COLUMNS = 7;
const CLOCK_COLUMNS = 12;

export interface Logger {
  readonly log: Log;
  readonly setLevel: (level: LogLevel) => void;
}

/**
 * Drops lines below `level`. Fields are flat, so that no object can bring in a secret by accident. Writing is
 * synchronous, because the line before a crash is the one that is needed.
 */
export function createLogger(level: LogLevel, sink: Pick<LogOutput, 'write'> = processOutput()): Logger {
  const options = {
    level,
    // journald adds the process and the host.
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    // docs/security.md, "What the daemon defends": the log never contains the cookie. No code logs it; this
    // guards against a mistake.
    redact: ['cookie'],
  };
  const logger = pino(options, sink);
  return {
    log: (lineLevel, message, fields = {}) => logger[lineLevel](printableFields(fields), printable(message)),
    setLevel: (newLevel) => {
      logger.level = newLevel;
    },
  };
}

/**
 * JSON escapes only some of the characters that a terminal obeys. A stack has lines, and is of our own
 * making.
 */
function printableFields(fields: LogFields): LogFields {
  const entries = Object.entries(fields).map(([name, value]) => {
    const isText = typeof value === 'string' && name !== 'stack';
    return [name, isText ? printable(value) : value];
  });
  return Object.fromEntries(entries);
}

function processOutput(): LogOutput {
  // Uses the descriptor: process.stdout would wrap it in a stream that nothing else here needs.
  if (!isatty(STDOUT)) return new LogOutput(standardOutput());
  // Node knows the terminals' names, and respects NO_COLOR.
  const colours = process.stdout.hasColors();
  return new LogOutput(standardOutput(), (line) => terminalLine(line, colours));
}

interface LogEntry {
  readonly level: LogLevel;
  readonly msg: string;
  readonly time?: string;
  readonly backend?: string;
  readonly stack?: string;
  readonly [field: string]: unknown;
}

/**
 * A log line for people at a terminal: one line, and below it those of a stack. `json` ends with its line
 * feed. Not pino-pretty: it is 53 kB and 19 packages, which flat fields do not need, and it passes on an
 * escape sequence in a stream's name to the terminal (measured, version 13).
 */
export function terminalLine(json: string, colours: boolean): string {
  const { time, level, backend = '', msg, stack, ...fields }: LogEntry = JSON.parse(json);
  const painted = (colour: number, text: string) =>
    colours && text !== '' ? `\x1b[${colour}m${text}\x1b[0m` : text;
  const others = Object.entries(fields).map(([name, value]) => `${name}=${String(value)}`);
  const words = [
    painted(FAINT, clockTime(time)),
    painted(COLOURS[level], level.toUpperCase().padEnd(LEVEL_COLUMNS)),
    backend.padEnd(BACKEND_COLUMNS),
    printable(msg),
    painted(FAINT, printable(others.join(' '))),
  ];
  const calls = stack === undefined ? [] : stack.split('\n').map((call) => `    ${printable(call.trim())}`);
  return `${[words.join(' ').trimEnd(), ...calls].join('\n')}\n`;
}

/** The terminal's local time, with milliseconds. */
function clockTime(time: string | undefined): string {
  if (time === undefined) return ' '.repeat(CLOCK_COLUMNS);
  const date = new Date(time);
  return `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/**
 * Writes to a file descriptor; throws like writeSync(2). Returns the number of bytes written, which may be
 * fewer.
 */
type WriteBytes = (bytes: Uint8Array) => number;

/**
 * Files never block; sockets and pipes are made non-blocking. A terminal that is stopped (^S) still blocks
 * the service.
 */
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
 * A stream socket is journald's, which may stop reading. Node makes a socket non-blocking by wrapping it; the
 * wrapper lives as long as the process. Node cannot wrap other kinds of socket; they stay blocking.
 */
function stopBlocking(): void {
  try {
    new Socket({ fd: STDOUT, readable: false }).unref();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}

/**
 * Opens the pipe again without blocking: the flag belongs to the open file, which other processes may share.
 */
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
    if (this.#lost > 0 && this.#take(`{"level":"warn","lost":${this.#lost},"msg":"log lines were lost"}\n`))
      this.#lost = 0;
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
