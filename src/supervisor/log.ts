// The log: decides what a line looks like, and what becomes of lines that cannot be written. A line is a JSON
// object on standard output, which journald stores; on a terminal it is text for people. Lines are written at
// once and never wait: when a disk is full or a reader is blocked, lines are lost and the service goes on.
// pino's own destination would retry for ever on the main thread (measured). Only this file knows pino.

import { constants, fstatSync, openSync, type Stats, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { isatty } from 'node:tty';
import { pino } from 'pino';
import { printable } from '../printable.js';
import { CHILD_NAMES } from '../protocol/actor/backends.js';
import type { Log, LogFields } from '../protocol/actor/messages.js';
import type { LogLevel } from '../protocol/actor/settings.js';

const STDOUT = 1;

/** Parameters of the escape sequence that chooses a colour (ECMA-48, SGR). */
const COLOURS = { fatal: 31, error: 31, warn: 33, info: 32, debug: 36, trace: 36 } as const;
const FAINT = 2;
const LEVEL_COLUMNS = 5;
/** Room for the longest name of a backend or a bridge. */
const BACKEND_COLUMNS = Math.max(...CHILD_NAMES.map((name) => name.length));
/** `HH:MM:SS.mmm` */
const CLOCK_COLUMNS = 12;

export interface Logger {
  readonly log: Log;
  readonly setLevel: (level: LogLevel) => void;
}

/**
 * A logger that drops lines below `level`. Fields are plain values, so that no object can bring in a secret
 * by accident. Writing is synchronous, because the last line before a crash is the one that is needed.
 */
export function createLogger(level: LogLevel, sink: Pick<LogOutput, 'write'> = processOutput()): Logger {
  const options = {
    level,
    // journald adds the process and the host.
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    // The log must never contain the cookie (docs/security.md, "What the daemon defends"). No code logs it,
    // and this guards against a mistake.
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

/** Escapes the texts, because JSON escapes only some of the characters that a terminal obeys. */
function printableFields(fields: LogFields): LogFields {
  const entries = Object.entries(fields).map(([name, value]) => {
    if (typeof value !== 'string') return [name, value];
    return [name, name === 'stack' ? printableLines(value) : printable(value)];
  });
  return Object.fromEntries(entries);
}

/** A stack keeps its lines. It begins with the error's message, which may quote another program. */
function printableLines(stack: string): string {
  return stack.split('\n').map(printable).join('\n');
}

function processOutput(): LogOutput {
  // Without a terminal process.stdout is not used, because it makes a stream that nothing else here needs.
  if (!isatty(STDOUT)) return new LogOutput(standardOutput());
  // hasColors() knows the types of terminals, and respects NO_COLOR.
  const hasColours = process.stdout.hasColors();
  return new LogOutput(standardOutput(), (line) => terminalLine(line, hasColours));
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
 * The text for people of a log line: one line, and below it the lines of a stack. `json` may end with a line
 * feed, and the text always does. pino-pretty is not used: it has 53 kB and 19 packages, which plain fields
 * do not need, and it lets an escape sequence in a stream's name reach the terminal (measured, version 13).
 */
export function terminalLine(json: string, hasColours: boolean): string {
  const { time, level, backend = '', msg, stack, ...fields }: LogEntry = JSON.parse(json);
  const painted = (colour: number, text: string) =>
    hasColours && text !== '' ? `\x1b[${colour}m${text}\x1b[0m` : text;
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

/** The time of day in the local time zone, with milliseconds; blanks for a line without a time. */
function clockTime(time: string | undefined): string {
  if (time === undefined) return ' '.repeat(CLOCK_COLUMNS);
  const date = new Date(time);
  return `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/**
 * Writes to a file descriptor, and returns how many of the bytes were written. Throws the system's error,
 * also if a write would have to wait.
 */
type WriteBytes = (bytes: Uint8Array) => number;

/**
 * Makes a function that writes to standard output without waiting. Files never block, and sockets and pipes
 * are made non-blocking. A terminal that is stopped (^S) still blocks the service.
 */
export function standardOutput(): WriteBytes {
  const stats = statsOfOutput();
  if (stats?.isSocket()) makeSocketNonBlocking();
  const pipe = stats?.isFIFO() ? openPipeNonBlocking() : undefined;
  const fd = pipe ?? STDOUT;
  return (bytes) => writeSync(fd, bytes);
}

function statsOfOutput(): Stats | undefined {
  try {
    return fstatSync(STDOUT);
  } catch {
    // There is no standard output: each line will be lost, and counted.
    return undefined;
  }
}

/**
 * The socket belongs to journald, which may stop reading. Node makes a stream socket non-blocking when a
 * `Socket` is made for it, which then lives as long as the process. Node cannot make a `Socket` for other
 * kinds of sockets, which still block.
 */
function makeSocketNonBlocking(): void {
  try {
    new Socket({ fd: STDOUT, readable: false }).unref();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}

/**
 * Opens the pipe once more, because the flag belongs to the open file. If standard output had the flag, the
 * standard output of other processes would have it, too.
 */
function openPipeNonBlocking(): number | undefined {
  try {
    return openSync(`/proc/self/fd/${STDOUT}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // There is no /proc: standard output is used as it is, and may block.
    return undefined;
  }
}

/** Where lines are written. Lost lines are counted, and the count is written when there is room again. */
export class LogOutput {
  readonly #write: WriteBytes;
  readonly #format: (line: string) => string;
  #lostLines = 0;
  /** The unwritten rest of the last line. Until it is written, all further lines are lost. */
  #rest: Uint8Array = new Uint8Array();

  /** `format` converts each line before it is written. */
  constructor(write: WriteBytes, format: (line: string) => string = (line) => line) {
    this.#write = write;
    this.#format = format;
  }

  /** `line` is JSON and ends with a line feed. Never throws. */
  write(line: string): void {
    if (this.#lostLines > 0) {
      const count = `{"level":"warn","lost":${this.#lostLines},"msg":"log lines were lost"}\n`;
      if (this.#tryToWrite(count)) this.#lostLines = 0;
    }
    if (!this.#tryToWrite(line)) this.#lostLines += 1;
  }

  /** Returns true if the line was written at least in part. The next call begins with its rest. */
  #tryToWrite(line: string): boolean {
    try {
      if (this.#rest.length > 0) this.#rest = this.#rest.subarray(this.#write(this.#rest));
      if (this.#rest.length > 0) return false;
      const bytes = Buffer.from(this.#format(line));
      this.#rest = bytes.subarray(this.#write(bytes));
      return true;
    } catch {
      return false;
    }
  }
}
