// `tonearm ctl`: asks a node, prints the answer, and sets the exit status. main.js loads this program
// instead of the daemon (packaging/build.mjs).

import { ProblemError } from '../../client/problem.js';
import { type Tonearm, tonearm } from '../../client/routes.js';
import { errorText, printable } from '../../printable.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { VERSION } from '../../version.js';
import { lines, writeOut } from '../output.js';
import { type CtlOptions, type CtlRequest, parseCtl } from './arguments.js';
import { askNode } from './ask.js';
import type { CtlCommand } from './commands.js';
import { completions } from './completions.js';
import { resolveNames } from './names.js';
import { addressHere, addressOf, type NodeAddress } from './node-address.js';
import { plainLines } from './plain-text.js';
import { EXIT, type ExitName, exitFor } from './statuses.js';
import { watch } from './watch.js';

type CallRequest = Extract<CtlRequest, { do: 'call' }>;
type WatchRequest = Extract<CtlRequest, { do: 'watch' }>;

interface CtlFailure {
  readonly exit: ExitName;
  readonly messages: readonly string[];
}

function run(request: CtlRequest): ExitName | Promise<ExitName> {
  switch (request.do) {
    case 'print':
      return printOut(request.text);
    case 'version':
      return printOut(`${VERSION}\n`);
    case 'completion':
      return printOut(completions(request.shell));
    case 'wrong':
      return fail({ exit: 'usage', messages: [request.message] });
    case 'watch':
      return watchNode(request);
    case 'call':
      return callNode(request);
  }
}

async function nodeFor(options: CtlOptions): Promise<Result<Tonearm, CtlFailure>> {
  const addressText = options.node ?? process.env['TONEARM_NODE'] ?? '';
  if (addressText === '') {
    const here = await addressHere();
    return here.ok ? success(nodeAt(here.value)) : failed({ exit: 'badConfig', messages: here.error });
  }
  const address = addressOf(addressText);
  return address.ok ? success(nodeAt(address.value)) : failed({ exit: 'usage', messages: [address.error] });
}

function nodeAt({ base, headers }: NodeAddress): Tonearm {
  return tonearm(base, { headers });
}

async function callNode({ name, command, call, options }: CallRequest): Promise<ExitName> {
  const found = await nodeFor(options);
  if (!found.ok) return fail(found.error);
  const node = found.value;
  let notes: readonly string[] = [];
  try {
    const named = await resolveNames(node, call);
    if (!named.ok) return fail({ exit: 'conflict', messages: [`${name}: ${named.error}`] });
    notes = named.value.notes;
    const { params, body } = named.value.call;
    const answer = await askNode(node, command.operation, [...Object.values(params), body]);
    return await printAnswer(command, answer, options.json);
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const exit = exitFor(error);
    // The notes name the things that exist (names.ts). They help only if the node has not found the thing.
    const hints = exit === 'notFound' ? notes : [];
    const texts = [`${name}: ${problemText(error, node)}`, ...hints];
    return fail({ exit, messages: [texts.join('; ')] });
  }
}

/**
 * An operation that only changes something prints nothing. The OpenAPI document is printed as JSON even
 * without `--json`.
 */
async function printAnswer(
  { operation, route, answerSchema }: CtlCommand,
  answer: unknown,
  json: boolean,
): Promise<ExitName> {
  if (answer instanceof Blob) return printBytes(Buffer.from(await answer.arrayBuffer()));
  if (route.startsWith('POST')) return 'ok';
  if (json || answerSchema === 'OpenApi') return printOut(`${JSON.stringify(answer)}\n`);
  return printOut(lines(plainLines(operation, answer)));
}

function printBytes(bytes: Buffer): ExitName {
  if (process.stdout.isTTY)
    return fail({
      exit: 'usage',
      messages: ['these are bytes, which no terminal shows; write them to a file'],
    });
  return printOut(bytes);
}

async function watchNode({ types, options }: WatchRequest): Promise<ExitName> {
  const found = await nodeFor(options);
  if (!found.ok) return fail(found.error);
  const node = found.value;
  const { stdout } = process;
  /** Aborted when the output cannot be written any more, for example because its reader has ended. */
  const over = new AbortController();
  let exit: ExitName = 'ok';
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // EPIPE means that the reader has ended, which is no failure.
    if (error.code !== 'EPIPE') exit = fail({ exit: 'cannotWrite', messages: [errorText(error)] });
    over.abort();
  });
  const problem = await watch(node.transport, {
    types,
    json: options.json,
    write: (line) => void stdout.write(`${line}\n`),
    remark: (text) => void process.stderr.write(`tonearm: ctl: watch: ${text}\n`),
    describeProblem: (streamProblem) => problemText(streamProblem, node),
    over: over.signal,
  });
  if (problem === undefined) return exit;
  return fail({ exit: exitFor(problem), messages: [`watch: ${problemText(problem, node)}`] });
}

/** The text names the node's address if the node cannot be reached, or if another program answers there. */
function problemText(error: ProblemError, { transport }: Tonearm): string {
  const { code, problem } = error;
  if (code !== 'unreachable' && code !== 'not-the-service') return printable(error.message);
  const explanation = problem.detail && `: ${problem.detail}`;
  return printable(`${problem.title}, ${transport.base}${explanation}`);
}

function printOut(content: string | Uint8Array): ExitName {
  writeOut(process.stdout, content, EXIT.cannotWrite);
  return 'ok';
}

/** The failure keeps its exit status even if its messages cannot be written. */
function fail({ exit, messages }: CtlFailure): ExitName {
  writeOut(process.stderr, lines(messages.map((message) => `tonearm: ctl: ${message}`)), EXIT[exit]);
  return exit;
}

// Without this listener, the signal would make Node.js start its inspector. The inspector lets any local user
// run code as the user of this process.
process.on('SIGUSR1', () => undefined);

// The first three arguments are Node.js, main.js and `ctl`. There is no top-level await, because the bundle
// is CommonJS.
Promise.resolve(run(parseCtl(process.argv.slice(3)))).then((exit) => {
  // If `writeOut` has failed before, it has already set the exit status.
  process.exitCode ??= EXIT[exit];
});
