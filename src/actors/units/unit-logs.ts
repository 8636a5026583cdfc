// Reads the log of a unit with journalctl, which is the only stable interface to the files of systemd's
// journal. In the daemon, only this file and name-lookup.ts start other programs.

import type { ChildProcess, ExecFileException } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type Clock, within } from '../../host/clock.js';
import { clipped } from '../../printable.js';
import type { Answer, UnitScope } from '../../protocol/actor/commands.js';
import { type Fault, failure } from '../../protocol/actor/faults.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { logText } from './log-entries.js';

/**
 * How many readings may run at a time. A reading that was killed counts until its process has ended. If a
 * disk does not answer, the process may never end.
 */
const READINGS_MAX = 4;
/** journalctl takes seconds on a memory card. A command must be answered within 10 s (supervisor.ts). */
const READING_MAX_MS = 9_000;
const OUTPUT_MAX_BYTES = 1 << 20;
/** How many UTF-16 units of journalctl's error output an answer repeats. */
const ERRORS_MAX_UNITS = 1024;

export interface LogQuery {
  readonly scope: UnitScope;
  /** The primary name, because a unit does not log under an alias. */
  readonly unit: string;
  readonly lines: number;
}

/**
 * The folders of the journal's files, for each scope. If the daemon's user is not allowed to read a file in
 * one of them, a log of this scope may lack messages.
 */
export type JournalFolders = Readonly<Record<UnitScope, readonly string[]>>;

/**
 * `/run` has the files in memory, and `/var` has the files on the disk. An ordinary user may read the logs of
 * his own units if the journal is on the disk (docs/http-api.md, "Logs of units"). So `/var` is checked only
 * for units of the system.
 */
const JOURNAL_FOLDERS: JournalFolders = {
  user: ['/run/log/journal'],
  system: ['/run/log/journal', '/var/log/journal'],
};

const NO_ENTRIES = '[]';
/** journalctl prints these words if it is not allowed to open any of the files. */
const FORBIDDEN = /insufficient permissions/;
const NOT_READABLE = failure(
  'not-granted',
  "The daemon's user may not read this log; members of the group systemd-journal may",
);

/** The output of the program, and Node's error if the program did not end well. */
type JournalctlEnd = Partial<ExecFileException> & { readonly stdout: string; readonly stderr: string };

export class UnitLogs {
  readonly #clock: Clock;
  readonly #program: string;
  readonly #journalFolders: JournalFolders;
  readonly #runningReadings = new Map<ChildProcess, Promise<JournalctlEnd>>();

  constructor(clock: Clock, program = 'journalctl', journalFolders = JOURNAL_FOLDERS) {
    this.#clock = clock;
    this.#program = program;
    this.#journalFolders = journalFolders;
  }

  async read(query: LogQuery): Promise<Answer> {
    const end = await this.#run(logArguments(query));
    return end.ok ? answerTo(end.value, this.#journalFolders[query.scope]) : end;
  }

  /**
   * True if systemd has logged that a unit of the user was stopped during the run `invocation`. The start of
   * a oneshot unit is done when the unit's script has ended, and a later stop does not count. Returns false
   * if the journal cannot be read in time, or has no message about the run.
   */
  async wasStopped(invocation: string, isOneshot: boolean): Promise<boolean> {
    // journalctl combines matches of the same field by OR, and matches of different fields by AND. These
    // matches find the run's start jobs and stop jobs with the result `done`.
    const matches = [
      `USER_INVOCATION_ID=${invocation}`,
      'JOB_RESULT=done',
      'JOB_TYPE=start',
      'JOB_TYPE=stop',
    ];
    const end = await this.#run(['--output=json', '--output-fields=JOB_TYPE', '--no-pager', ...matches]);
    if (!end.ok) return false;
    const { stdout } = end.value;
    const hasStopJob = /"JOB_TYPE" *: *"stop"/.test(stdout);
    const hasStartJob = /"JOB_TYPE" *: *"start"/.test(stdout);
    const hadScriptEnded = isOneshot && hasStartJob;
    return hasStopJob && !hadScriptEnded;
  }

  /** Fails if too many readings are under way, or if the program has not ended in time and was killed. */
  async #run(args: readonly string[]): Promise<Result<JournalctlEnd, Fault>> {
    // The module is loaded only when a log is read, because it takes 2 MB of memory.
    const { execFile } = await import('node:child_process');
    const { size } = this.#runningReadings;
    if (size >= READINGS_MAX)
      return failed({ fault: 'unavailable', detail: `${size} logs are being read already` });
    const { PATH } = process.env;
    // journalctl's messages must be in English, so that `FORBIDDEN` recognizes them.
    const env = { LC_ALL: 'C.UTF-8', ...(PATH !== undefined && { PATH }) };
    const options = { env, maxBuffer: OUTPUT_MAX_BYTES, killSignal: 'SIGKILL' } as const;
    const execution = promisify(execFile)(this.#program, args, options);
    const { child } = execution;
    const reading: Promise<JournalctlEnd> = execution
      .catch((error: JournalctlEnd) => error)
      .finally(() => this.#runningReadings.delete(child));
    this.#runningReadings.set(child, reading);
    const end = await within(this.#clock, READING_MAX_MS, reading);
    if (end !== undefined) return success(end);
    child.kill('SIGKILL');
    return failed({
      fault: 'timeout',
      detail: `journalctl has not answered within ${READING_MAX_MS / 1000} s`,
    });
  }

  /**
   * Resolves when all child processes have ended. A process that outlived this thread would stay a zombie for
   * the life of the daemon (docs/development/what-we-learnt.md, "Node and V8").
   */
  async stop(): Promise<void> {
    for (const child of this.#runningReadings.keys()) child.kill('SIGKILL');
    await Promise.all(this.#runningReadings.values());
  }
}

/**
 * The arguments that need a reason:
 * - `--user-unit` without `--user`, because `--user` leaves the file `system.journal` out. If the node keeps
 *   its journal in memory, or the user's id is below 1000, this file has the messages of the user's units.
 * - `--all`, because long fields are null without this option.
 * - `--namespace=*`, because a unit with `LogNamespace=` writes to files of its own. The usual files have
 *   only systemd's messages about this unit.
 */
function logArguments({ scope, unit, lines }: LogQuery): readonly string[] {
  const unitOption = scope === 'user' ? '--user-unit' : '--unit';
  return [
    '--output=json',
    '--output-fields=MESSAGE,PRIORITY',
    '--all',
    '--no-pager',
    '--reverse',
    '--namespace=*',
    `--lines=${lines}`,
    `${unitOption}=${unit}`,
  ];
}

/** `folders` are those of the unit's scope in `JournalFolders`. */
async function answerTo(end: JournalctlEnd, folders: readonly string[]): Promise<Answer> {
  const { code, signal, message: errorMessage, stdout, stderr } = end;
  // There are four cases:
  // - journalctl was not started. `code` is the system's reason, such as `ENOENT`.
  // - Its output was too long (`isCut`).
  // - It has ended well (`hasEndedWell`).
  // - It has ended with an error. `code` is its exit status, or `signal` is set.
  const isCut = code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER';
  if (typeof code === 'string' && !isCut)
    return failure('refused', `journalctl cannot be started: ${errorMessage}`);
  const hasEndedWell = errorMessage === undefined;
  const hasOutput = hasEndedWell || isCut;
  const text = hasOutput ? logText(stdout) : NO_ENTRIES;
  if (text !== NO_ENTRIES) return success({ text });
  // journalctl may end well and print nothing although it was not allowed to open a file.
  const isForbidden = hasEndedWell ? await hasHiddenFile(folders) : FORBIDDEN.test(stderr);
  if (isForbidden) return NOT_READABLE;
  if (hasEndedWell) return success({ text: NO_ENTRIES });
  if (isCut) return failure('refused', `The newest message has more than ${OUTPUT_MAX_BYTES} bytes`);
  const how = signal ? `by ${signal}` : `with status ${code}`;
  const errors = clipped(stderr.trim().replace(/\s*\n\s*/g, '; '), ERRORS_MAX_UNITS);
  const reason = errors === '' ? '' : `: ${errors}`;
  return failure('refused', `journalctl was ended ${how}${reason}`);
}

/**
 * True if the daemon's user is not allowed to read the file `system.journal` in one of these folders.
 * journalctl 252 does not always report that.
 */
async function hasHiddenFile(folders: readonly string[]): Promise<boolean> {
  const machineId = (await readFile('/etc/machine-id', 'utf8').catch(() => '')).trim();
  const readErrorOf = (folder: string): Promise<string | undefined> =>
    access(`${folder}/${machineId}/system.journal`, constants.R_OK).then(
      () => undefined,
      ({ code }: NodeJS.ErrnoException) => code,
    );
  const errors = await Promise.all(folders.map(readErrorOf));
  return errors.includes('EACCES');
}
