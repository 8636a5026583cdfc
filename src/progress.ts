// `tonearm progress`: writes one line of upgrade progress to the daemon's socket, for shell scripts. Whatever happens, it only
// says so: progress is a courtesy, and an upgrade must not fail for want of somebody who looks on.

import { connect } from 'node:net';
import { runtimeDirectory } from './runtime-directory.js';

export const PROGRESS_HELP = `Usage: tonearm progress begin --total N
       tonearm progress step --percent P --current C --step NAME
       tonearm progress end --success | --failure

Writes one line of upgrade progress to a running tonearm.

  --total N      how many steps there will be
  --percent P    how much is done, 0 to 100
  --current C    the number of this step
  --step NAME    what is being done now
  --socket PATH  the daemon's upgrade.progressSocket; by default
                 $XDG_RUNTIME_DIR/tonearm/upgrade.sock

A tonearm that is not there, as it is being restarted, is tried again for a
second. Exit status: always 0, so that it never ends a script under set -e;
what went wrong is one line on stderr.
`;

/** The daemon takes a line within milliseconds; a script is not kept waiting for one that hangs, or is not there. */
const DEADLINE_MS = 1_000;
const AGAIN_MS = 50;
/** What a daemon meets its clients with while it is being restarted; it has not read the line. */
const PASSING: readonly (string | undefined)[] = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EAGAIN'];

export type ProgressRequest =
  | { readonly do: 'write'; readonly line: string; readonly socket: string }
  | { readonly do: 'help' }
  | { readonly do: 'wrong'; readonly message: string };

/** What the default of `--socket` depends on. */
export interface ProgressPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly uid: number;
}

type Value = string | true;

/** Option -> whether a value follows it. */
const OPTIONS: Readonly<Record<string, boolean>> = {
  '--total': true,
  '--percent': true,
  '--current': true,
  '--step': true,
  '--success': false,
  '--failure': false,
  '--socket': true,
};

/** Verb -> the options that it needs, and the line that they make; a text says what is wrong with them. */
const VERBS: Readonly<Record<string, (given: ReadonlyMap<string, Value>) => object | string>> = {
  begin: (given) => {
    const total = integer(given, '--total');
    return typeof total === 'string' ? total : { event: 'begin', total };
  },
  step: (given) => {
    const [percent, current] = [integer(given, '--percent'), integer(given, '--current')];
    if (typeof percent === 'string') return percent;
    if (typeof current === 'string') return current;
    const step = given.get('--step');
    return step === undefined ? '--step is missing' : { event: 'progress', percent, current, step };
  },
  end: (given) => {
    const [success, failure] = [given.has('--success'), given.has('--failure')];
    return success === failure ? 'give either --success or --failure' : { event: 'end', success };
  },
};

const FOR_VERB: Readonly<Record<string, readonly string[]>> = {
  begin: ['--total'],
  step: ['--percent', '--current', '--step'],
  end: ['--success', '--failure'],
};

/** `args` are those behind the word `progress`. Pure. */
export function parseProgress(args: readonly string[], { env, uid }: ProgressPlace): ProgressRequest {
  if (args.includes('--help')) return { do: 'help' };
  const [verb = '', ...rest] = args;
  const build = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined;
  if (build === undefined)
    return wrong(verb === '' ? 'what is to be said?' : `unknown word ${JSON.stringify(verb)}`);
  const given = optionsOf(rest, verb);
  if (typeof given === 'string') return wrong(given);
  const line = build(given);
  if (typeof line === 'string') return wrong(line);
  const runtime = runtimeDirectory(env, uid);
  const socket = given.get('--socket') ?? `${runtime}/tonearm/upgrade.sock`;
  return { do: 'write', line: JSON.stringify(line), socket: String(socket) };
}

function optionsOf(args: readonly string[], verb: string): ReadonlyMap<string, Value> | string {
  const given = new Map<string, Value>();
  const rest = [...args];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    const equals = argument.indexOf('=');
    const name = equals < 0 ? argument : argument.slice(0, equals);
    const takesValue = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined;
    if (takesValue === undefined) return `unknown option ${JSON.stringify(name)}`;
    if (name !== '--socket' && !FOR_VERB[verb]?.includes(name)) return `${name} does not go with ${verb}`;
    if (given.has(name)) return `${name} is given twice`;
    if (!takesValue && equals >= 0) return `${name} takes no value`;
    const value = !takesValue ? true : equals < 0 ? rest.shift() : argument.slice(equals + 1);
    if (value === undefined || (name === '--socket' && value === '')) return `${name} needs a value`;
    given.set(name, value);
  }
  return given;
}

function integer(given: ReadonlyMap<string, Value>, name: string): number | string {
  const text = given.get(name);
  if (text === undefined) return `${name} is missing`;
  const value = Number(text);
  if (!/^-?\d+$/.test(String(text)) || !Number.isSafeInteger(value)) return `${name} needs an integer`;
  return value;
}

function wrong(message: string): ProgressRequest {
  return { do: 'wrong', message: `${message}; see tonearm progress --help` };
}

/**
 * Writes the line and waits until the daemon has read it, so that a script that ends right behind has been heard. A daemon that
 * is not there is tried again, as it may be restarting. Resolves, within the deadline, to what went wrong, if anything; never
 * rejects.
 */
export async function writeProgress(
  line: string,
  socket: string,
  deadlineMs = DEADLINE_MS,
): Promise<string | undefined> {
  const endMs = performance.now() + deadlineMs;
  for (;;) {
    const problem = await attempt(line, socket, endMs - performance.now());
    if (problem === undefined) return undefined;
    const isLate = performance.now() + AGAIN_MS >= endMs;
    if (isLate || !PASSING.includes(problem.code)) return `${socket}: ${problem.message}`;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

function attempt(line: string, socket: string, withinMs: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const end = (problem?: Error) => {
      clearTimeout(timer);
      connection.destroy();
      resolve(problem);
    };
    const timer = setTimeout(() => end(new Error('nobody took the line in time')), withinMs);
    const connection = connect({ path: socket });
    connection.once('error', end);
    // The daemon closes its end once it has read ours to the end.
    connection.once('close', () => end());
    connection.resume();
    connection.end(`${line}\n`);
  });
}

/** The whole command. Resolves to the text for stderr and stdout; the exit status is always 0. */
export async function runProgress(
  args: readonly string[],
  place: ProgressPlace,
): Promise<{ readonly out: string; readonly err: string }> {
  const request = parseProgress(args, place);
  if (request.do === 'help') return { out: PROGRESS_HELP, err: '' };
  const problem =
    request.do === 'wrong' ? request.message : await writeProgress(request.line, request.socket);
  return { out: '', err: problem === undefined ? '' : `tonearm: progress: ${problem}\n` };
}
