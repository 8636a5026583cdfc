// Decides what a command line of `tonearm ctl` requests, or why it is wrong. Pure.

import { editDistance } from '../../edit-distance.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { type WrongUsage, wrongUsage } from '../arguments.js';
import { COMMANDS, type CtlCommand } from './commands.js';
import { SHELLS, type Shell } from './completions.js';
import { commandHelp, ctlHelp } from './help.js';
import { eventTypes } from './watch.js';
import { type RequestArguments, readWords } from './words.js';

export interface CtlOptions {
  readonly node?: string | undefined;
  readonly json: boolean;
}

export type CtlRequest =
  | { readonly do: 'print'; readonly text: string }
  | { readonly do: 'version' }
  | { readonly do: 'completion'; readonly shell: Shell }
  | { readonly do: 'watch'; readonly options: CtlOptions; readonly types: readonly string[] }
  | {
      readonly do: 'call';
      readonly options: CtlOptions;
      readonly name: string;
      readonly command: CtlCommand;
      readonly call: RequestArguments;
    }
  | WrongUsage;

interface LineParts {
  readonly words: readonly string[];
  readonly node: string | undefined;
  readonly flags: ReadonlySet<string>;
}

const FLAGS = ['--json', '--help', '--version'];
const NODE_OPTION = '--node';
const NODE_EQUALS = `${NODE_OPTION}=`;
const SUGGESTIONS_MAX = 4;

/** `args` are the arguments after the word `ctl`. */
export function parseCtl(args: readonly string[]): CtlRequest {
  const line = readLine(args);
  if (!line.ok) return wrong(line.error);
  const { words, node, flags } = line.value;
  const [name, ...operationWords] = words;
  if (flags.has('--version')) return { do: 'version' };
  if (flags.has('--help')) return helpFor(name);
  if (name === undefined) return wrong('an operation is missing');
  const options = { node, json: flags.has('--json') };
  if (name === 'watch') return watchRequest(operationWords, options);
  if (name === 'completion') return completionRequest(operationWords);
  const command = commandNamed(name);
  if (!command.ok) return wrong(command.error);
  const call = readWords(command.value, operationWords);
  if (!call.ok) return wrong(`${name}: ${call.error}`, name);
  return { do: 'call', options, name, command: command.value, call: call.value };
}

/** A word may begin with one dash, because `-5%` is a value. */
function readLine(args: readonly string[]): Result<LineParts, string> {
  const words: string[] = [];
  const flags = new Set<string>();
  let node: string | undefined;
  for (let position = 0; position < args.length; position += 1) {
    const arg = args[position] ?? '';
    if (arg === '--') return success({ words: [...words, ...args.slice(position + 1)], node, flags });
    const hasEqualsSign = arg.startsWith(NODE_EQUALS);
    if (arg === NODE_OPTION || hasEqualsSign) {
      if (node !== undefined) return failed(`${NODE_OPTION} is there twice`);
      // Without an equals sign, the value is the next argument.
      if (!hasEqualsSign) position += 1;
      node = hasEqualsSign ? arg.slice(NODE_EQUALS.length) : args[position];
      if (!node) return failed(`${NODE_OPTION} needs a value`);
    } else if (FLAGS.includes(arg)) flags.add(arg);
    else if (arg.startsWith('--')) return failed(`unknown option ${JSON.stringify(arg)}`);
    else words.push(arg);
  }
  return success({ words, node, flags });
}

/** If no command has this name, the general help is returned. It explains `watch` and `completion`, too. */
function helpFor(name: string | undefined): CtlRequest {
  const command = name === undefined ? undefined : findCommand(name);
  if (name === undefined || command === undefined) return { do: 'print', text: ctlHelp() };
  return { do: 'print', text: commandHelp(name, command) };
}

function watchRequest(words: readonly string[], options: CtlOptions): CtlRequest {
  // The error is the first name that stands for no event type.
  const types = eventTypes(words);
  return types.ok
    ? { do: 'watch', options, types: types.value }
    : wrong(`watch: there is no event ${JSON.stringify(types.error)}`);
}

function completionRequest([word, ...others]: readonly string[]): CtlRequest {
  const shell = SHELLS.find((name) => name === word);
  if (shell === undefined || others.length > 0) return wrong(`completion: it takes ${SHELLS.join(', ')}`);
  return { do: 'completion', shell };
}

/** Undefined also for the name of a member that every object has, such as `constructor`. */
function findCommand(name: string): CtlCommand | undefined {
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
}

function commandNamed(name: string): Result<CtlCommand, string> {
  const command = findCommand(name);
  if (command !== undefined) return success(command);
  return failed(`there is no operation ${JSON.stringify(name)}; near it: ${similarNames(name).join(', ')}`);
}

/** The names that contain the word, else those that differ least from it. */
function similarNames(word: string): readonly string[] {
  const names = [...Object.keys(COMMANDS), 'watch', 'completion'];
  const containing = names.filter((name) => name.includes(word));
  const ranked = names.map((name) => ({ name, distance: editDistance(name, word) }));
  ranked.sort((one, other) => one.distance - other.distance);
  const similar = containing.length > 0 ? containing : ranked.map(({ name }) => name);
  return similar.slice(0, SUGGESTIONS_MAX);
}

/** `wrongUsage` adds `see COMMAND --help` to the message. */
function wrong(reason: string, operation?: string): WrongUsage {
  const command = operation === undefined ? 'tonearm ctl' : `tonearm ctl ${operation}`;
  return wrongUsage(command, reason);
}
