// Reads the log of a unit with journalctl: the journal's files have no other stable interface. The only file
// of the daemon that starts another program; it never uses a shell, and decides nothing about who may read
// what.

import type { ChildProcess, ExecFileException } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type Clock, within } from '../../host/clock.js';
import type { Answer, UnitScope } from '../../protocol/actor/commands.js';
import { type Fault, failure } from '../../protocol/actor/faults.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { clipped } from '../text.js';
import { logText } from './log-entries.js';

/** Includes readings that do not end although they were killed, as on a disk that does not answer. */
const READINGS_MAX = 4;
const READING_MAX_MS = 5_000;
const OUTPUT_MAX_BYTES = 1 << 20;
const ERRORS_MAX_UNITS = 1024;

export interface LogQuery {
  readonly scope: UnitScope;
  /** The name under which the unit logs, which is no alias. */
  readonly unit: string;
  readonly lines: number;
}

/** Node's error, or only the output of a program that ended well. */
type JournalctlEnd = Partial<ExecFileException> & { readonly stdout: string; readonly stderr: string };

export class UnitLogs {
  readonly #clock: Clock;
  readonly #program: string;
  readonly #readings = new Map<ChildProcess, Promise<JournalctlEnd>>();

  constructor(clock: Clock, program = 'journalctl') {
    this.#clock = clock;
    this.#program = program;
  }

  async read(query: LogQuery): Promise<Answer> {
    const end = await this.#run(logArguments(query));
    return end.ok ? answerTo(query.scope, end.value) : end;
  }

  /**
   * True if systemd has logged that a unit of the user was stopped in this run, and not that its start was
   * done before. False also where the journal has nothing of it.
   */
  async wasStopped(invocation: string): Promise<boolean> {
    const jobs = [`USER_INVOCATION_ID=${invocation}`, 'JOB_RESULT=done', 'JOB_TYPE=start', 'JOB_TYPE=stop'];
    const end = await this.#run(['--output=json', '--output-fields=JOB_TYPE', '--no-pager', ...jobs]);
    if (!end.ok) return false;
    const { stdout } = end.value;
    return /"JOB_TYPE" *: *"stop"/.test(stdout) && !/"JOB_TYPE" *: *"start"/.test(stdout);
  }

  /** Fails if too many run already, or if it has not ended in time and was killed. */
  async #run(args: readonly string[]): Promise<Result<JournalctlEnd, Fault>> {
    // Loaded for the first log, because it takes 2 MB.
    const { execFile } = await import('node:child_process');
    const { size } = this.#readings;
    if (size >= READINGS_MAX)
      return failed({ fault: 'unavailable', detail: `${size} logs are being read already` });
    const { PATH } = process.env;
    const env = { LC_ALL: 'C.UTF-8', ...(PATH !== undefined && { PATH }) };
    const options = { env, maxBuffer: OUTPUT_MAX_BYTES, killSignal: 'SIGKILL' } as const;
    const running = promisify(execFile)(this.#program, args, options);
    const { child } = running;
    const ended: Promise<JournalctlEnd> = running.catch((error: JournalctlEnd) => error);
    const end = ended.finally(() => this.#readings.delete(child));
    this.#readings.set(child, end);
    const inTime = await within(this.#clock, READING_MAX_MS, end);
    if (inTime !== undefined) return success(inTime);
    child.kill('SIGKILL');
    return failed({
      fault: 'timeout',
      detail: `journalctl has not answered within ${READING_MAX_MS / 1000} s`,
    });
  }

  /**
   * Resolves when no child is left. A child that ends after its thread stays a zombie for the life of the
   * process (docs/development/what-we-learnt.md, "Node and V8").
   */
  async stop(): Promise<void> {
    for (const child of this.#readings.keys()) child.kill('SIGKILL');
    await Promise.all(this.#readings.values());
  }
}

/**
 * A user unit is looked for in all files that may be read: on nodes that keep the journal in memory, and for
 * users with an id below 1000, its messages are in the system's file (`--user` would leave that out).
 * `--all`: without it, long fields are null. `--namespace=*`: a unit with `LogNamespace=` writes to files of
 * its own, and only systemd's lines about it are in the usual ones.
 */
function logArguments({ scope, unit, lines }: LogQuery): readonly string[] {
  const which = scope === 'user' ? '--user-unit' : '--unit';
  return [
    '--output=json',
    '--output-fields=MESSAGE,PRIORITY',
    '--all',
    '--no-pager',
    '--reverse',
    '--namespace=*',
    `--lines=${lines}`,
    `${which}=${unit}`,
  ];
}

async function answerTo(scope: UnitScope, end: JournalctlEnd): Promise<Answer> {
  const { code, signal, message, stdout, stderr } = end;
  // A text is the system's reason why the program was not started, or Node's why it was ended.
  const isCut = code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER';
  if (typeof code === 'string' && !isCut)
    return failure('refused', `journalctl cannot be started: ${message}`);
  const isWhole = message === undefined;
  const text = isWhole || isCut ? logText(stdout) : NOTHING;
  if (text !== NOTHING) return success({ text });
  const mayNot = isWhole ? await hasHiddenFile(scope) : MAY_NOT.test(stderr);
  if (mayNot) return NOT_READABLE;
  if (isWhole) return success({ text });
  if (isCut) return failure('refused', `The newest message has more than ${OUTPUT_MAX_BYTES} bytes`);
  const how = signal ? `by ${signal}` : `with status ${code}`;
  const why = clipped(stderr.trim().replace(/\s*\n\s*/g, '; '), ERRORS_MAX_UNITS);
  return failure('refused', `journalctl was ended ${how}${why === '' ? '' : `: ${why}`}`);
}

const NOTHING = '[]';
/** journalctl's words where it may open no file at all. */
const MAY_NOT = /insufficient permissions/;
const NOT_READABLE = failure(
  'not-granted',
  "The daemon's user may not read this log; members of the group systemd-journal may",
);

/**
 * True if messages may be in a file that this user may not read. journalctl 252 does not always report that.
 */
async function hasHiddenFile(scope: UnitScope): Promise<boolean> {
  const folders = ['/run/log/journal', ...(scope === 'system' ? ['/var/log/journal'] : [])];
  const machine = (await readFile('/etc/machine-id', 'utf8').catch(() => '')).trim();
  const tried = folders.map((folder) => access(`${folder}/${machine}/system.journal`, constants.R_OK));
  const faults = tried.map((each) => each.catch(({ code }: NodeJS.ErrnoException) => code));
  return (await Promise.all(faults)).includes('EACCES');
}
