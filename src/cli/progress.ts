// `tonearm progress`: writes one line of upgrade progress to the daemon's socket, for shell scripts. A
// failure is only reported, because an upgrade must not fail when its progress cannot be shown.

import { connect } from 'node:net';
import { parseArgs } from 'node:util';
import { runtimeDirectory } from '../host/user-directories.js';
import { errorText } from '../printable.js';
import { type WrongUsage, wrongUsage } from './arguments.js';
import { type Caller, invokingUser } from './invoking-user.js';

export const PROGRESS_HELP = `Usage: tonearm progress begin --total N
       tonearm progress step --percent P --current C --step NAME
       tonearm progress end --success | --failure

Writes one line of upgrade progress to a running tonearm.

  --total N      how many steps there will be
  --percent P    how much of the upgrade is done, 0 to 100
  --current C    the number of this step
  --step NAME    what is being done now
  --socket PATH  the daemon's upgrade.progressSocket; by default
                 $XDG_RUNTIME_DIR/tonearm/upgrade.sock, under sudo
                 that of the user who runs it

While tonearm cannot be reached, for instance because it restarts, this command
tries again for one second. The exit status is always 0, so that a script under
set -e goes on; a problem is one line on stderr.
`;

/**
 * The daemon reads a line within milliseconds. A script must not wait for a daemon that hangs or is absent.
 */
const DEADLINE_MS = 1_000;
const AGAIN_MS = 50;
/** Errors that clients see while the daemon restarts; it has not read the line then. */
const PASSING: readonly (string | undefined)[] = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EAGAIN'];

export type ProgressRequest =
  | { readonly do: 'write'; readonly line: string; readonly socket: string }
  | { readonly do: 'help' }
  | WrongUsage;

/**
 * tonearm does not run for root: a script that is run by sudo reports to the tonearm of the user who runs it.
 */
function defaultSocket(caller: Caller): string {
  const invoker = invokingUser(caller);
  const directory =
    invoker === undefined ? runtimeDirectory(caller.env, caller.uid) : runtimeDirectory({}, invoker);
  return `${directory}/tonearm/upgrade.sock`;
}

type ProgressOptions = Readonly<Record<string, unknown>>;
type Options = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>;

const VALUE = { type: 'string' } as const;
const FLAG = { type: 'boolean' } as const;

/** The event that each command writes, and the options that give the line its other fields. */
const VERBS: Readonly<Record<string, { readonly event: string; readonly options: Options }>> = {
  begin: { event: 'begin', options: { total: VALUE } },
  step: { event: 'progress', options: { percent: VALUE, current: VALUE, step: VALUE } },
  end: { event: 'end', options: { success: FLAG, failure: FLAG } },
};
/** The only option whose value is a text. */
const TEXT = 'step';

/** `args` are the arguments after the word `progress`. Pure. */
export function parseProgress(args: readonly string[], caller: Caller): ProgressRequest {
  if (args.includes('--help')) return { do: 'help' };
  const wrong = (reason: string) => wrongUsage('tonearm progress', reason);
  const [word = '', ...rest] = args;
  const verb = Object.hasOwn(VERBS, word) ? VERBS[word] : undefined;
  if (verb === undefined)
    return wrong(word === '' ? 'begin, step or end is missing' : `unknown command ${JSON.stringify(word)}`);
  const options = optionsOf(rest, { ...verb.options, socket: VALUE });
  if (typeof options === 'string') return wrong(options);
  const line = word === 'end' ? endLine(options) : lineOf(verb, options);
  if (typeof line === 'string') return wrong(line);
  const { socket = defaultSocket(caller) } = options;
  if (socket === '') return wrong('--socket needs a value');
  return { do: 'write', line: JSON.stringify(line), socket: String(socket) };
}

/**
 * Not strict, so that the parser accepts a value that begins with a dash, for instance the name of a step.
 */
function optionsOf(args: string[], options: Options): ProgressOptions | string {
  const { values, tokens } = parseArgs({ args, options, strict: false, tokens: true });
  for (const token of tokens) {
    const { kind, index } = token;
    const option = kind === 'option' && Object.hasOwn(options, token.name) ? options[token.name] : undefined;
    if (kind !== 'option' || option === undefined) return `unknown option ${JSON.stringify(args[index])}`;
    if (option.type === 'boolean' && token.inlineValue === true) return `${token.rawName} takes no value`;
    if (option.type === 'string' && token.value === undefined) return `${token.rawName} needs a value`;
  }
  return values;
}

function endLine({ success = false, failure = false }: ProgressOptions): object | string {
  return success === failure ? 'give either --success or --failure' : { event: 'end', success };
}

/** The line, or a text with the fault. */
function lineOf({ event, options }: (typeof VERBS)[string], parsed: ProgressOptions): object | string {
  const line: Record<string, unknown> = { event };
  for (const name of Object.keys(options)) {
    const text = parsed[name];
    if (text === undefined) return `--${name} is missing`;
    line[name] = name === TEXT ? text : Number(text);
    const isFaulty = !/^-?\d+$/.test(String(text)) || !Number.isSafeInteger(line[name]);
    if (name !== TEXT && isFaulty) return `--${name} needs an integer`;
  }
  return line;
}

/**
 * Writes the line and waits until the daemon has read it, because the script may end directly afterwards. If
 * the daemon is absent, it tries again, as the daemon may be restarting. Resolves within the deadline to an
 * error text, or undefined; never rejects.
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
    if (isLate || !PASSING.includes(problem.code)) return `${socket}: ${errorText(problem)}`;
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
    const timer = setTimeout(() => end(new Error('tonearm did not read the line in time')), withinMs);
    const connection = connect({ path: socket });
    connection.once('error', end);
    // The daemon closes its end when it has read ours completely.
    connection.once('close', () => end());
    connection.resume();
    connection.end(`${line}\n`);
  });
}

/** Runs the whole command. Resolves to the texts for stderr and stdout; the exit status is always 0. */
export async function runProgress(
  args: readonly string[],
  caller: Caller,
): Promise<{ readonly out: string; readonly err: string }> {
  const request = parseProgress(args, caller);
  if (request.do === 'help') return { out: PROGRESS_HELP, err: '' };
  const problem =
    request.do === 'wrong' ? request.message : await writeProgress(request.line, request.socket);
  return { out: '', err: problem === undefined ? '' : `tonearm: progress: ${problem}\n` };
}
