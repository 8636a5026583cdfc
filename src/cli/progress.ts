// `tonearm progress`: writes one line of upgrade progress to the daemon's socket, for shell scripts. The
// exit status is 0 even after a failure, because an upgrade must not fail when its progress cannot be
// displayed.

import { connect } from 'node:net';
import { parseArgs } from 'node:util';
import { runtimeDirectory } from '../host/user-directories.js';
import { errorText } from '../printable.js';
import { failed, type Result, success } from '../protocol/actor/result.js';
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
tries again for one second, and with end for 15 seconds. The exit status is
always 0, so that a script under set -e goes on; a problem is one line on stderr.
`;

/**
 * The longest time of one attempt. The daemon needs only milliseconds to read a line and to close the
 * connection. A script must not wait for a daemon that hangs.
 */
const ATTEMPT_MAX_MS = 1_000;
const RETRY_AFTER_MS = 50;
/**
 * A script must not wait long for a daemon that is absent. A lost line does little harm, because another
 * line follows.
 */
const RETRY_MAX_MS = 1_000;
/**
 * No line follows `end`. If `end` is lost, the upgrade counts as running until there has been no connection
 * for ten minutes (`QUIET_MS` in actors/upgrade/run.ts). On a slow board the daemon takes some seconds to
 * start, so `end` is tried for longer than that.
 */
const END_RETRY_MAX_MS = 15_000;
/**
 * A connection fails with one of these errors while the daemon restarts. The daemon has not read the line
 * then, so the line is sent again.
 */
const RESTART_ERRORS: readonly (string | undefined)[] = [
  'ENOENT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'EAGAIN',
];

export type ProgressRequest =
  | {
      readonly do: 'write';
      readonly line: string;
      readonly socket: string;
      /** How long to try again while the daemon is absent. */
      readonly retryMs: number;
    }
  | { readonly do: 'help' }
  | WrongUsage;

/**
 * tonearm does not usually run as root. So if a user has become root, for example by sudo, the script of this
 * user reports to this user's tonearm.
 */
function defaultSocket(caller: Caller): string {
  const invoker = invokingUser(caller);
  // If there is an invoker, `caller.env` has root's variables, which do not name the invoker's directory.
  const directory =
    invoker === undefined ? runtimeDirectory(caller.env, caller.uid) : runtimeDirectory({}, invoker);
  return `${directory}/tonearm/upgrade.sock`;
}

type ParsedOptions = Readonly<Record<string, unknown>>;
type OptionTypes = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>;

const VALUE = { type: 'string' } as const;
const FLAG = { type: 'boolean' } as const;

/**
 * A verb is the word after `progress`. Each row has the `event` of the verb's line, and the options that set
 * the other fields of this line.
 */
const VERBS: Readonly<Record<string, { readonly event: string; readonly options: OptionTypes }>> = {
  begin: { event: 'begin', options: { total: VALUE } },
  step: { event: 'progress', options: { percent: VALUE, current: VALUE, step: VALUE } },
  end: { event: 'end', options: { success: FLAG, failure: FLAG } },
};
/** The only VALUE in VERBS that is a text. Each other VALUE in VERBS is an integer. */
const TEXT_OPTION = 'step';

/** `args` are the arguments after the word `progress`. Pure. */
export function parseProgress(args: readonly string[], caller: Caller): ProgressRequest {
  if (args.includes('--help')) return { do: 'help' };
  const wrong = (reason: string) => wrongUsage('tonearm progress', reason);
  const [word = '', ...optionArgs] = args;
  const verb = Object.hasOwn(VERBS, word) ? VERBS[word] : undefined;
  if (verb === undefined)
    return wrong(word === '' ? 'begin, step or end is missing' : `unknown command ${JSON.stringify(word)}`);
  const parsed = parseOptions(optionArgs, { ...verb.options, socket: VALUE });
  if (!parsed.ok) return wrong(parsed.error);
  const line = word === 'end' ? endLine(parsed.value) : beginOrStepLine(verb, parsed.value);
  if (!line.ok) return wrong(line.error);
  const { socket = defaultSocket(caller) } = parsed.value;
  if (socket === '') return wrong('--socket needs a value');
  const retryMs = word === 'end' ? END_RETRY_MAX_MS : RETRY_MAX_MS;
  return { do: 'write', line: JSON.stringify(line.value), socket: String(socket), retryMs };
}

/** Checks the options itself, because a strict `parseArgs` refuses a value that begins with a dash. */
function parseOptions(args: string[], options: OptionTypes): Result<ParsedOptions, string> {
  const { values, tokens } = parseArgs({ args, options, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind !== 'option' || !Object.hasOwn(options, token.name))
      return failed(`unknown option ${JSON.stringify(args[token.index])}`);
    const type = options[token.name]?.type;
    if (type === 'boolean' && token.inlineValue === true) return failed(`${token.rawName} takes no value`);
    if (type === 'string' && token.value === undefined) return failed(`${token.rawName} needs a value`);
  }
  return success(values);
}

function endLine(parsed: ParsedOptions): Result<object, string> {
  const isSuccess = parsed['success'] ?? false;
  const isFailure = parsed['failure'] ?? false;
  return isSuccess === isFailure
    ? failed('give either --success or --failure')
    : success({ event: 'end', success: isSuccess });
}

function beginOrStepLine(
  { event, options }: (typeof VERBS)[string],
  parsed: ParsedOptions,
): Result<object, string> {
  const line: Record<string, unknown> = { event };
  for (const name of Object.keys(options)) {
    const text = parsed[name];
    if (text === undefined) return failed(`--${name} is missing`);
    if (name === TEXT_OPTION) {
      line[name] = text;
      continue;
    }
    const number = Number(text);
    const isInteger = /^-?\d+$/.test(String(text)) && Number.isSafeInteger(number);
    if (!isInteger) return failed(`--${name} needs an integer`);
    line[name] = number;
  }
  return success(line);
}

/**
 * Writes the line and waits until the daemon has read it. Without this wait, the script's unit may end before
 * the daemon reads the line, and then the line does not change the run. Tries again for `retryMs` while the
 * daemon is absent, because the daemon may be restarting. Never rejects.
 */
export async function writeProgress(
  line: string,
  socket: string,
  retryMs: number,
): Promise<Result<undefined, string>> {
  const endMs = performance.now() + retryMs;
  for (;;) {
    const written = await attempt(line, socket, Math.min(endMs - performance.now(), ATTEMPT_MAX_MS));
    if (written.ok) return written;
    const { error } = written;
    const isLastAttempt = performance.now() + RETRY_AFTER_MS >= endMs;
    if (isLastAttempt || !RESTART_ERRORS.includes(error.code))
      return failed(`${socket}: ${errorText(error)}`);
    await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER_MS));
  }
}

type Written = Result<undefined, NodeJS.ErrnoException>;

function attempt(line: string, socket: string, withinMs: number): Promise<Written> {
  return new Promise((resolve) => {
    // `timer` and `connection` have their values when `end` is called, because only later events call it.
    const end = (written: Written) => {
      clearTimeout(timer);
      connection.destroy();
      resolve(written);
    };
    const fail = (error: Error) => end(failed(error));
    const timer = setTimeout(() => fail(new Error('tonearm did not read the line in time')), withinMs);
    const connection = connect({ path: socket });
    connection.once('error', fail);
    // The daemon closes the connection when it has read the whole line. Node reports this only if the socket
    // is read (`resume`). A `close` also follows an error, but the promise is already settled then.
    connection.once('close', () => end(success(undefined)));
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
  const written =
    request.do === 'wrong'
      ? failed(request.message)
      : await writeProgress(request.line, request.socket, request.retryMs);
  return { out: '', err: written.ok ? '' : `tonearm: progress: ${written.error}\n` };
}
