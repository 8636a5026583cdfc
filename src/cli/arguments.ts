// Decides which command a command line requests, or why it is wrong. Pure. `tonearm ctl` has
// cli/ctl/arguments.ts instead.

import { type ParseArgsConfig, parseArgs } from 'node:util';
import { errorText } from '../printable.js';
import { failed, type Result, success } from '../protocol/actor/result.js';

/** The parsed command line. Without `configPath` the configuration is searched for in the usual places. */
export type CommandLine =
  | { readonly do: 'run'; readonly allowRoot: boolean; readonly configPath?: string }
  | { readonly do: 'check-config'; readonly configPath?: string }
  | { readonly do: 'version' }
  | { readonly do: 'help' }
  /** `args` are the unparsed arguments after the command's word. */
  | { readonly do: 'progress' | 'bench' | 'trace'; readonly args: readonly string[] }
  | WrongUsage;

/** The command line is wrong (EX_USAGE). `message` is one line: the reason, and a reference to `--help`. */
export interface WrongUsage {
  readonly do: 'wrong';
  readonly message: string;
}

const OPTIONS = {
  config: { type: 'string' },
  'allow-root': { type: 'boolean' },
  'check-config': { type: 'boolean' },
  version: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

export function parseArguments(argv: readonly string[]): CommandLine {
  const [word, ...args] = argv;
  if (word === 'progress' || word === 'bench' || word === 'trace') return { do: word, args };
  const wrong = (reason: string): WrongUsage => wrongUsage('tonearm', reason);
  const options = readOptions(argv, OPTIONS);
  if (!options.ok) return wrong(options.error);
  const { values, tokens } = options.value;
  if (values.help) return { do: 'help' };
  if (values.version) return { do: 'version' };
  // `values` has only the last `--config`. `tokens` has all of them.
  const configs = tokens.filter((token) => token.kind === 'option' && token.name === 'config');
  if (configs.length > 1) return wrong('--config is given twice');
  if (values.config === '') return wrong('--config needs a value');
  const configMember = values.config === undefined ? {} : { configPath: values.config };
  if (values['check-config']) return { do: 'check-config', ...configMember };
  return { do: 'run', allowRoot: values['allow-root'] === true, ...configMember };
}

type OptionTable = NonNullable<ParseArgsConfig['options']>;

type Parsed<O extends OptionTable> = ReturnType<typeof parseArgs<{ options: O; tokens: true }>>;

/** The values of `options` in `args`, or the reason why the arguments are wrong. */
export function readOptions<O extends OptionTable>(
  args: readonly string[],
  options: O,
): Result<Parsed<O>, string> {
  try {
    return success(parseArgs({ args: [...args], options, tokens: true }));
  } catch (error) {
    // `parseArgs` throws a TypeError if the arguments are wrong.
    if (error instanceof TypeError) return failed(errorText(error));
    throw error;
  }
}

export function wrongUsage(command: string, reason: string): WrongUsage {
  return { do: 'wrong', message: `${reason.replace(/\s+/g, ' ')}; see ${command} --help` };
}
