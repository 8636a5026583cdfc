// Reads the log of a unit with journalctl: the journal's files have no other stable interface. The only file of the daemon that starts
// another program; it never uses a shell, and decides nothing about who may read what.

import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { type Clock, within } from '../../clock.js';
import type { Answer, UnitScope } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { clipped } from '../text.js';
import { logText } from './log-entries.js';

/** Also those that do not end although they were killed, as on a disk that does not answer. */
const READINGS_MAX = 4;
const READING_MAX_MS = 5_000;
const OUTPUT_MAX_BYTES = 1 << 20;
const ERRORS_MAX_UNITS = 1024;

type Spawn = typeof import('node:child_process').spawn;

export interface LogQuery {
  readonly scope: UnitScope;
  /** The name under which the unit logs, which is no alias. */
  readonly unit: string;
  readonly lines: number;
}

interface JournalctlResult {
  /** Why it could not be started; undefined if it was. */
  readonly fault: string | undefined;
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
  readonly errors: string;
  /** It was ended here, because it had written enough. */
  readonly isCut: boolean;
}

export class UnitLogs {
  readonly #clock: Clock;
  readonly #program: string;
  readonly #readings = new Map<ChildProcess, Promise<JournalctlResult>>();

  constructor(clock: Clock, program = 'journalctl') {
    this.#clock = clock;
    this.#program = program;
  }

  async read(query: LogQuery): Promise<Answer> {
    // Loaded when the first log is wanted: it takes 2 MB.
    const { spawn } = await import('node:child_process');
    const { size } = this.#readings;
    if (size >= READINGS_MAX) return failure('unavailable', `${size} logs are being read already`);
    const child = this.#start(spawn, query);
    if (typeof child === 'string') return cannotStart(child);
    const ended = endOf(child).finally(() => this.#readings.delete(child));
    this.#readings.set(child, ended);
    const answer = ended.then((end) => answerTo(query.scope, end));
    const inTime = await within(this.#clock, READING_MAX_MS, answer);
    if (inTime !== undefined) return inTime;
    child.kill('SIGKILL');
    return failure('timeout', `journalctl has not answered within ${READING_MAX_MS / 1000} s`);
  }

  /** Resolves when no child is left: one that ended after its thread would stay a zombie for the life of the process (measured). */
  async stop(): Promise<void> {
    for (const child of this.#readings.keys()) child.kill('SIGKILL');
    await Promise.all(this.#readings.values());
  }

  /** The fault if not even a failed child came of it, as without memory. */
  #start(spawn: Spawn, query: LogQuery): ChildProcess | string {
    const { PATH } = process.env;
    const env = { LC_ALL: 'C.UTF-8', ...(PATH !== undefined && { PATH }) };
    try {
      return spawn(this.#program, logArguments(query), { stdio: ['ignore', 'pipe', 'pipe'], env });
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
}

/**
 * A user unit is looked for in all files that may be read: on nodes that keep the journal in memory, and for users with an id below 1000,
 * its messages are in the system's file (`--user` would leave that out). `--all`: without it, long fields are null.
 */
function logArguments({ scope, unit, lines }: LogQuery): readonly string[] {
  const which = scope === 'user' ? '--user-unit' : '--unit';
  return [
    ...['--output=json', '--output-fields=MESSAGE,PRIORITY', '--all', '--no-pager', '--reverse'],
    ...[`--lines=${lines}`, `${which}=${unit}`],
  ];
}

function endOf(child: ChildProcess): Promise<JournalctlResult> {
  const chunks: Buffer[] = [];
  let [size, errors] = [0, ''];
  let fault: string | undefined;
  child.stdout?.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= OUTPUT_MAX_BYTES) chunks.push(chunk);
    else child.kill('SIGKILL');
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = clipped(errors + text, ERRORS_MAX_UNITS);
  });
  return new Promise((resolve) => {
    const end = (status: number | null, signal: NodeJS.Signals | null): void =>
      resolve({
        ...{ fault, status, signal, errors, isCut: size > OUTPUT_MAX_BYTES },
        output: Buffer.concat(chunks).toString(),
      });
    child.on('close', end);
    child.on('error', (error) => {
      fault = error.message;
      // Without a process there is nothing to wait for.
      if (child.pid === undefined) end(null, null);
    });
  });
}

async function answerTo(scope: UnitScope, ended: JournalctlResult): Promise<Answer> {
  const { fault, status, signal, output, errors, isCut } = ended;
  if (fault !== undefined) return cannotStart(fault);
  const isWhole = status === 0;
  const text = isWhole || isCut ? logText(output) : NOTHING;
  if (text !== NOTHING) return { ok: true, text };
  const mayNot = isWhole ? await hasHiddenFile(scope) : MAY_NOT.test(errors);
  if (mayNot) return NOT_READABLE;
  if (isWhole) return { ok: true, text };
  if (isCut) return failure('refused', `The newest message has more than ${OUTPUT_MAX_BYTES} bytes`);
  const how = signal === null ? `with status ${status}` : `by ${signal}`;
  const errorText = errors.trim().replace(/\s*\n\s*/g, '; ');
  return failure('refused', `journalctl was ended ${how}${errorText === '' ? '' : `: ${errorText}`}`);
}

const NOTHING = '[]';
/** journalctl's words where it may open no file at all. */
const MAY_NOT = /insufficient permissions/;
const NOT_READABLE = failure(
  'not-granted',
  "The daemon's user may not read this log; members of the group systemd-journal may",
);

/**
 * True if the messages may be in a file that this user may not read: an empty list would be no answer then, and journalctl does not always
 * hint at it (seen with 252). A journal on the disk has a file for each user; one in memory has not.
 */
async function hasHiddenFile(scope: UnitScope): Promise<boolean> {
  const folders = ['/run/log/journal', ...(scope === 'system' ? ['/var/log/journal'] : [])];
  const machine = (await readFile('/etc/machine-id', 'utf8').catch(() => '')).trim();
  const faults = folders.map((folder) =>
    access(`${folder}/${machine}/system.journal`, constants.R_OK).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === 'EACCES',
    ),
  );
  return (await Promise.all(faults)).includes(true);
}

function cannotStart(reason: string): Answer {
  return failure('refused', `journalctl cannot be started: ${reason}`);
}
