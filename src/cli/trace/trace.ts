// Reads the command line of `tonearm trace`, and decides when a trace begins and ends. The trace runs in a
// process of its own, not in the daemon.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { findServer, readMachineId } from '../../actors/audio/server-address.js';
import { systemClock, within } from '../../host/clock.js';
import { homeDirectory, runtimeDirectory } from '../../host/user-directories.js';
import { errorText } from '../../printable.js';
import { jsonLine, textLine } from '../../protocol/pulse/trace/lines.js';
import { readOptions, type WrongUsage, wrongUsage } from '../arguments.js';
import { Capture } from './capture.js';
import { TraceProxy } from './proxy.js';

const TRACE_HELP = `Usage: tonearm trace [--raw FILE] [--data] [--json] [-- COMMAND...]

Shows the messages between programs and the sound server, one line for each:
seconds, connection, > to or < from the server, the request's number (- for
none), the command, and its fields by name.

  --raw FILE   keep the bytes, too: FILE-N-client.bin and FILE-N-server.bin hold
               what each side of connection N has sent; FILE.json lists them
  --data       print a line for each block of audio data, too
  --json       print one JSON object per line

With a COMMAND, it runs that command and ends with its status; the command's
output goes to standard error. Without a COMMAND, it prints the value for the
variable PULSE_SERVER of other programs to standard error, and runs until it
gets a signal. Cookies are neither printed nor kept. Shared memory is declined,
so that audio data passes as bytes.

Exit status: 0 success, 64 wrong usage, 69 cannot listen, 74 cannot write,
             126 or 127 the command cannot be run, otherwise the command's own
`;

/** After a signal other than SIGINT, the command has this much time to end. Then it is killed. */
const COMMAND_END_MAX_MS = 5_000;
/** Each wait at the end of a trace takes at most this long. */
const DRAIN_MAX_MS = 1_000;
/** A shell has the same two statuses for a command that it does not find, and for one that it cannot run. */
const NOT_FOUND = 127;
const NOT_RUNNABLE = 126;
/** A shell adds this to the number of the signal that ended a command. */
const SIGNAL_STATUS = 128;

export interface TraceTask {
  readonly do: 'trace';
  readonly raw: string | undefined;
  readonly data: boolean;
  readonly json: boolean;
  /** Empty if no command is run. */
  readonly command: readonly string[];
}

export type TraceRequest = TraceTask | { readonly do: 'help'; readonly text: string } | WrongUsage;

const OPTIONS = {
  raw: { type: 'string' },
  data: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean' },
} as const;

/** `args` are the arguments after the word `trace`. Pure. */
export function parseTrace(args: readonly string[]): TraceRequest {
  const hasCommand = args.includes('--');
  const ownCount = hasCommand ? args.indexOf('--') : args.length;
  const ownArgs = args.slice(0, ownCount);
  const command = args.slice(ownCount + 1);
  const wrong = (reason: string): WrongUsage => wrongUsage('tonearm trace', reason);
  const options = readOptions(ownArgs, OPTIONS);
  if (!options.ok) return wrong(options.error);
  const { raw, data, json, help } = options.value.values;
  if (help) return { do: 'help', text: TRACE_HELP };
  if (raw === '') return wrong('--raw needs a value');
  if (hasCommand && !command[0]) return wrong('a command must follow --');
  return { do: 'trace', raw, data, json, command };
}

/** `end` is the name of an exit status in main.ts, or the command's own status. `message` is for people. */
export interface TraceEnd {
  readonly end: 'ok' | 'cannotListen' | 'cannotWrite' | number;
  readonly message?: string;
}

/** Registers a callback for the signals that should end this process. */
type OnSignal = (callback: (signal: NodeJS.Signals) => void) => void;

/**
 * Traces until the command has ended or, without a command, until a signal. The trace ends earlier if nothing
 * more can be written. After the trace, this function removes the socket, and waits at most `DRAIN_MAX_MS`
 * until the output is written.
 */
export async function runTrace(
  task: TraceTask,
  onSignal: OnSignal,
  printError: (text: string) => void,
): Promise<TraceEnd> {
  const { env, pid, stdout } = process;
  const uid = process.getuid?.() ?? 0;
  const found = await findServer({ env, uid, home: homeDirectory(), machineId: readMachineId() });
  if (!found.ok) return { end: 'cannotListen', message: found.error };
  const { paths, addressProblem } = found.value;
  // `addressProblem` names a configured address that is no socket of this machine, so `paths` does not
  // contain this address. Without the trace, programs may use it. The trace would connect them to another
  // server.
  if (addressProblem !== undefined) return { end: 'cannotListen', message: addressProblem };
  const output = new Output(stdout);
  const capture = task.raw === undefined ? undefined : new Capture(task.raw);
  const proxy = new TraceProxy({
    serverPaths: () => paths,
    writeLine: (line) => output.write(`${task.json ? jsonLine(line) : textLine(line)}\n`),
    attempt: (write) => output.attempt(write),
    capture,
    showsData: task.data,
  });
  const directory = runtimeDirectory(env, uid);
  const path = join(directory, `tonearm-trace-${pid}`);
  if (!existsSync(directory)) {
    const remedy = 'run this in a login of the user of the sound server, or set XDG_RUNTIME_DIR to a folder';
    const message = `the folder ${directory}, for the socket of the trace, does not exist: ${remedy}`;
    return { end: 'cannotListen', message };
  }
  try {
    await proxy.listen(path);
  } catch (error) {
    return { end: 'cannotListen', message: `cannot listen there: ${errorText(error)}` };
  }
  // An earlier capture is overwritten only by a trace that can listen.
  output.attempt(() => capture?.begin());
  if (output.failure !== undefined) {
    proxy.end();
    return { end: 'cannotWrite', message: output.failure };
  }
  const address = `unix:${path}`;
  let end: TraceEnd = { end: 'ok' };
  if (task.command.length > 0) {
    end = await runCommand(task.command, address, onSignal, output.over);
    // Some of the command's last messages may still be on their way.
    await within(systemClock, DRAIN_MAX_MS, proxy.idle());
  } else {
    // The signal handler is set first, because a program that reads the address may send a signal at once.
    const ended = signalOrOutputOver(onSignal, output.over);
    printError(`PULSE_SERVER=${address}\n`);
    await ended;
  }
  proxy.end();
  await within(systemClock, DRAIN_MAX_MS, proxy.idle());
  output.attempt(() => capture?.end());
  await within(systemClock, DRAIN_MAX_MS, output.written());
  return output.failure === undefined ? end : { end: 'cannotWrite', message: output.failure };
}

/** Resolves at the first signal, or when nothing more can be written. */
function signalOrOutputOver(onSignal: OnSignal, outputOver: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    onSignal(() => resolve());
    outputOver.addEventListener('abort', () => resolve());
  });
}

/**
 * Runs the command until it ends, and passes signals on to it. The command may go on after an interrupt
 * (SIGINT), as in a shell. After any other signal, it is killed if it does not end in time.
 */
function runCommand(
  [program = '', ...args]: readonly string[],
  address: string,
  onSignal: OnSignal,
  outputOver: AbortSignal,
): Promise<TraceEnd> {
  return new Promise<TraceEnd>((resolve, reject) => {
    let child: ChildProcess | undefined;
    let cancelKill: (() => void) | undefined;
    const passOn = (signal: NodeJS.Signals): void => {
      child?.kill(signal);
      if (signal === 'SIGINT') return;
      // A further signal does not extend the time.
      cancelKill ??= systemClock.after(COMMAND_END_MAX_MS, () => child?.kill('SIGKILL'));
    };
    // The handler is set before the command starts, because somebody who sees the command may send a signal
    // at once. Without a handler, the signal would end this process, and the command would go on.
    onSignal(passOn);
    // The command's standard output goes to standard error, because the trace uses standard output. `spawn`
    // throws some failures, such as ENOTDIR, and emits others as `error`. Both kinds reject the promise.
    child = spawn(program, args, {
      env: { ...process.env, PULSE_SERVER: address },
      stdio: ['inherit', 2, 'inherit'],
    });
    outputOver.addEventListener('abort', () => passOn('SIGTERM'));
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      cancelKill?.();
      // Without a signal there is a code. The default below is only for the type.
      const status = signal === null ? code : SIGNAL_STATUS + constants.signals[signal];
      resolve({ end: status ?? NOT_RUNNABLE });
    });
  }).catch((error: NodeJS.ErrnoException) => {
    const status = error.code === 'ENOENT' ? NOT_FOUND : NOT_RUNNABLE;
    return { end: status, message: `cannot run ${program}: ${errorText(error)}` };
  });
}

/** Writes a trace's lines, and knows whether a write has failed. */
class Output {
  readonly #stream: NodeJS.WritableStream;
  readonly #over = new AbortController();
  #failure: string | undefined;

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') this.#over.abort();
      else this.#fail(error);
    });
  }

  /** Aborted when nothing more can be written: after a failure, or when the reader has closed the pipe. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** The reason why a write has failed. A pipe that its reader has closed is no failure. */
  get failure(): string | undefined {
    return this.#failure;
  }

  write(text: string): void {
    if (!this.over.aborted) this.#stream.write(text);
  }

  /**
   * Runs `write`, which writes to files, unless an earlier write has failed. Returns undefined if `write`
   * does not run, or if it fails.
   */
  attempt<T>(write: () => T): T | undefined {
    try {
      return this.#failure === undefined ? write() : undefined;
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  /** Resolves when all earlier texts are written, or at once if nothing more can be written. */
  written(): Promise<unknown> {
    return new Promise((resolve) => {
      if (this.over.aborted) resolve(undefined);
      // A stream calls back for an empty text only after all earlier texts.
      else this.#stream.write('', resolve);
    });
  }

  #fail(error: unknown): void {
    this.#failure ??= errorText(error);
    this.#over.abort();
  }
}
