// A line of the log for people at a terminal: time, level, backend, message, and whatever else it says. Pure.
//
// Not pino-pretty: it is 53 kB and 19 packages for what these fields, which are flat, do not need, and it hands on what a
// stream's name holds: an escape sequence would reach the terminal (measured, version 13).

import type { LogLevel } from '../protocol/actor/messages.js';
import { onOneLine } from './config/findings.js';

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

interface LogEntry {
  readonly level: LogLevel;
  readonly msg: string;
  readonly time?: string;
  readonly backend?: string;
  readonly stack?: string;
  readonly [field: string]: unknown;
}

/** `json` is a line of the log, with its line feed. One line, and those of a stack below it. */
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

/** Of the place where the terminal is, to the millisecond. */
function clockTime(time: string | undefined): string {
  if (time === undefined) return ' '.repeat(CLOCK_COLUMNS);
  const date = new Date(time);
  return `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}
