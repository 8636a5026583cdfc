// The log: one JSON object per line on standard output, which journald stores; on a terminal, lines for people.
// The only file that knows pino.

import { isatty } from 'node:tty';
import { pino } from 'pino';
import type { LogFields } from '../protocol/actor/messages.js';
import type { LogLevel } from '../protocol/actor/settings.js';
import { onOneLine } from './config/findings.js';
import { LogOutput, STDOUT, standardOutput } from './log-output.js';

/** Parameters of the escape sequence that chooses a colour (ECMA-48, SGR). */
const COLOURS: { readonly [L in LogLevel]: number } = {
  fatal: 31,
  error: 31,
  warn: 33,
  info: 32,
  debug: 36,
  trace: 36,
};
const FAINT = 2;
const LEVEL_COLUMNS = 5;
/** The longest name of a backend. */
const BACKEND_COLUMNS = 7;
const CLOCK_COLUMNS = 12;

/** The log as the rest of the program sees it. Fields are flat, so that no object can bring in a secret by accident. */
export interface Logger {
  log(level: LogLevel, message: string, fields?: LogFields): void;
}

/** docs/security.md, "What the daemon defends": the log never contains the cookie. No code logs it; this guards against a mistake. */
const REDACTED = ['cookie'];

/** The destination of lines: standard output except in tests. */
export interface LogSink {
  write(line: string): void;
}

/** Drops lines below `level`. Writing is synchronous, because the line before a crash is the one that is needed; lines are few. */
export function createLogger(level: LogLevel, sink: LogSink = processOutput()): Logger {
  const options = {
    level,
    // journald adds the process and the host.
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: REDACTED,
  };
  const log = pino(options, sink);
  return {
    log: (lineLevel, message, fields = {}) => log[lineLevel](fields, message),
  };
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
 * A log line for people at a terminal: one line, and below it those of a stack. `json` ends with its line feed. Not pino-pretty:
 * it is 53 kB and 19 packages, which flat fields do not need, and it passes on an escape sequence in a stream's name to the terminal
 * (measured, version 13).
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
    onOneLine(msg),
    painted(FAINT, onOneLine(others.join(' '))),
  ];
  const calls = stack === undefined ? [] : stack.split('\n').map((call) => `    ${onOneLine(call.trim())}`);
  return `${[words.join(' ').trimEnd(), ...calls].join('\n')}\n`;
}

/** The terminal's local time, with milliseconds. */
function clockTime(time: string | undefined): string {
  if (time === undefined) return ' '.repeat(CLOCK_COLUMNS);
  const date = new Date(time);
  return `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}
