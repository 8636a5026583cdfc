// Decides which form a line of the log has, and counts the lines that cannot be written. The log goes to
// standard output. If standard output is a terminal, a line is text for people, else a JSON object. Only this
// file knows pino.

import { constants, fstatSync, openSync, type Stats, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { isatty } from 'node:tty';
import { pino } from 'pino';
import { printable } from '../printable.js';
import { CHILD_NAMES } from '../protocol/actor/backends.js';
import type { Log, LogFields } from '../protocol/actor/messages.js';
import type { LogLevel } from '../protocol/actor/settings.js';

const STDOUT_FD = 1;

/** Parameters of the escape sequence that chooses a colour or faint letters (ECMA-48, SGR). */
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
 * Lines below `level` are dropped. Fields are plain values, so that no object can bring in a secret by
 * accident. Writing is synchronous, because the last line before a crash must not be lost.
 */
export function createLogger(level: LogLevel, output: Pick<LogOutput, 'write'> = processOutput()): Logger {
  const options = {
    level,
    // journald adds the process and the host.
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    // The log must never contain the sound server's cookie (docs/security.md, "What the daemon defends"). No
    // code logs the cookie, so this only guards against a mistake.
    redact: ['cookie'],
  };
  const logger = pino(options, output);
  return {
    log: (lineLevel, message, fields = {}) => logger[lineLevel](printableFields(fields), printable(message)),
    setLevel: (newLevel) => {
      logger.level = newLevel;
    },
  };
}

/**
 * The fields are made printable although they become JSON, because JSON escapes only some of the characters
 * that a terminal obeys.
 */
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
  // The first use of process.stdout makes a stream, which is needed only for hasColors() on a terminal.
  if (!isatty(STDOUT_FD)) return new LogOutput(standardOutput());
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
 * Returns one line for people, and the lines of a stack below it. `json` may end with a line feed, and the
 * result always ends with one. pino-pretty is not used, because it lets an escape sequence in the name of a
 * sink input reach the terminal (docs/development/what-we-learnt.md, "piscina and pino").
 */
export function terminalLine(json: string, hasColours: boolean): string {
  const { time, level, backend = '', msg, stack, ...fields }: LogEntry = JSON.parse(json);
  const painted = (style: number, text: string) =>
    hasColours && text !== '' ? `\x1b[${style}m${text}\x1b[0m` : text;
  const fieldTexts = Object.entries(fields).map(([name, value]) => `${name}=${String(value)}`);
  const columns = [
    painted(FAINT, clockTime(time)),
    painted(COLOURS[level], level.toUpperCase().padEnd(LEVEL_COLUMNS)),
    backend.padEnd(BACKEND_COLUMNS),
    printable(msg),
    painted(FAINT, printable(fieldTexts.join(' '))),
  ];
  const stackLines = stack === undefined ? [] : stack.split('\n');
  const indented = stackLines.map((line) => `    ${printable(line.trim())}`);
  return `${[columns.join(' ').trimEnd(), ...indented].join('\n')}\n`;
}

/** The time of day in the local time zone, with milliseconds; blanks for a line without a time. */
function clockTime(time: string | undefined): string {
  if (time === undefined) return ' '.repeat(CLOCK_COLUMNS);
  const date = new Date(time);
  return `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** Returns how many bytes were written. Throws the system's error, such as EAGAIN if writing would block. */
type WriteBytes = (bytes: Uint8Array) => number;

/**
 * Makes a function that writes to standard output. A file never blocks. A stream socket or a pipe is made
 * non-blocking. Any other output can still block the daemon, such as a terminal that is stopped (^S).
 */
export function standardOutput(): WriteBytes {
  const stats = statsOfOutput();
  if (stats?.isSocket()) makeSocketNonBlocking();
  const pipe = stats?.isFIFO() ? openPipeNonBlocking() : undefined;
  const fd = pipe ?? STDOUT_FD;
  return (bytes) => writeSync(fd, bytes);
}

function statsOfOutput(): Stats | undefined {
  try {
    return fstatSync(STDOUT_FD);
  } catch {
    // Without a standard output each line will be lost, and counted.
    return undefined;
  }
}

/**
 * If journald stopped reading, a write to its socket would block the daemon. Node makes a stream socket
 * non-blocking when a `Socket` is made for it. This `Socket` is used for nothing else, and stays open until
 * the process ends. Sockets of other kinds still block, because Node cannot make a `Socket` for them.
 */
function makeSocketNonBlocking(): void {
  try {
    new Socket({ fd: STDOUT_FD, readable: false }).unref();
  } catch (error) {
    // Node throws a TypeError for a socket of another kind.
    if (!(error instanceof TypeError)) throw error;
  }
}

/**
 * The flag `O_NONBLOCK` belongs to an open file, and other processes may share the open file of standard
 * output. If the daemon set the flag, their writes would become non-blocking, too. So the pipe is opened once
 * more, which gives the daemon its own open file.
 */
function openPipeNonBlocking(): number | undefined {
  try {
    return openSync(`/proc/self/fd/${STDOUT_FD}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // If the pipe cannot be opened, for instance without /proc, standard output is used, and may block.
    return undefined;
  }
}

/**
 * `write` waits only if `standardOutput` could not make the output non-blocking. If a disk is full, or nobody
 * reads the output, lines are lost and counted. The count is written before the next line for which there is
 * room. pino's own destination would retry for ever on the main thread
 * (docs/development/what-we-learnt.md, "piscina and pino").
 */
export class LogOutput {
  readonly #write: WriteBytes;
  readonly #format: (line: string) => string;
  #lostLines = 0;
  /** The unwritten end of the last line. Until it is written, all further lines are lost. */
  #unwritten: Uint8Array = new Uint8Array();

  /** `format` converts each line before it is written. */
  constructor(write: WriteBytes, format: (line: string) => string = (line) => line) {
    this.#write = write;
    this.#format = format;
  }

  /** `line` is JSON and ends with a line feed. Never throws. */
  write(line: string): void {
    if (this.#lostLines > 0) {
      const countLine = `{"level":"warn","lost":${this.#lostLines},"msg":"log lines were lost"}\n`;
      if (this.#tryToWrite(countLine)) this.#lostLines = 0;
    }
    if (!this.#tryToWrite(line)) this.#lostLines += 1;
  }

  /** Returns true if the line was written at least in part. The next call then writes the rest first. */
  #tryToWrite(line: string): boolean {
    try {
      if (this.#unwritten.length > 0)
        this.#unwritten = this.#unwritten.subarray(this.#write(this.#unwritten));
      if (this.#unwritten.length > 0) return false;
      const bytes = Buffer.from(this.#format(line));
      this.#unwritten = bytes.subarray(this.#write(bytes));
      return true;
    } catch {
      return false;
    }
  }
}
