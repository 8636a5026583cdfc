// The log: one JSON object per line on standard output, which journald keeps; on a terminal, lines for people. The only file
// that knows pino.

import { isatty } from 'node:tty';
import { pino } from 'pino';
import type { LogFields, LogLevel } from '../protocol/actor/messages.js';
import { LogOutput, STDOUT, standardOutput } from './log-output.js';
import { terminalLine } from './log-terminal.js';

/** What the rest of the program sees of the log. Fields are flat: no object can carry a secret in by accident. */
export interface Logger {
  log(level: LogLevel, message: string, fields?: LogFields): void;
}

/** Contract, section 6: the log never holds the cookie. No code logs it; this is for the day when some does. */
const REDACTED = ['cookie'];

/** Where lines go; standard output unless a test listens. */
export interface LogSink {
  write(line: string): void;
}

/** Lines below `level` are dropped. Writing is synchronous: the line before a crash is the one that is needed, and lines are few. */
export function createLogger(level: LogLevel, sink: LogSink = processOutput()): Logger {
  const options = {
    level,
    // journald knows the process and the host.
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
  // Asked of the descriptor: process.stdout would wrap it in a stream that nothing else here needs.
  if (!isatty(STDOUT)) return new LogOutput(standardOutput());
  // Node knows terminals by their names, and heeds NO_COLOR.
  const colours = process.stdout.hasColors();
  return new LogOutput(standardOutput(), (line) => terminalLine(line, colours));
}
