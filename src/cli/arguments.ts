// Parses the command line into one of a closed set of commands. Pure; prints nothing and ends nothing.

import { parseArgs } from 'node:util';

/** The parsed command line. `configPath` is absent if the usual places are to be searched. */
export type CommandLine =
  | { readonly do: 'run'; readonly allowRoot: boolean; readonly configPath?: string }
  | { readonly do: 'check-config'; readonly configPath?: string }
  | { readonly do: 'version' }
  | { readonly do: 'help' }
  /** `args` are the unparsed arguments after the word `progress`. */
  | { readonly do: 'progress'; readonly args: readonly string[] }
  /** The same for `bench` and `trace`. */
  | { readonly do: 'bench' | 'trace'; readonly args: readonly string[] }
  /** The command line is wrong (EX_USAGE); `message` is one line with the reason. */
  | { readonly do: 'usage'; readonly message: string };

export const HELP = `Usage: tonearm [--config PATH] [--allow-root]
       tonearm [--config PATH] --check-config
       tonearm progress ...
       tonearm bench [--seconds N] [--json]
       tonearm trace [--raw FILE] [--data] [--json] [-- COMMAND...]

Controls one networked audio node over HTTP and server-sent events.

  --config PATH    read PATH and the folder conf.d beside it; without this
                   option, the first that exists of
                   $XDG_CONFIG_HOME/tonearm/config.yaml (by default
                   ~/.config/tonearm/config.yaml) and
                   /etc/tonearm/config.yaml, else built-in defaults
  --allow-root     start even as root, which is refused otherwise
  --check-config   print the effective configuration, or its problems
  --version        print the version
  --help           print this text

  progress ...     write one line of upgrade progress, for shell scripts
  bench ...        measure what this machine and its sound server can carry
  trace ...        show the messages between programs and the sound server

Exit status: 0 success, 64 wrong usage, 69 cannot listen, 74 cannot write,
             77 refuses to run as root, 78 wrong configuration,
             126 the processor is too old (ARMv6)
`;

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
  try {
    const { values, tokens } = parseArgs({ args: [...argv], options: OPTIONS, tokens: true });
    if (values.help) return { do: 'help' };
    if (values.version) return { do: 'version' };
    const configs = tokens.filter((token) => token.kind === 'option' && token.name === 'config');
    if (configs.length > 1) return usageError('--config is given twice');
    if (values.config === '') return usageError('--config needs a value');
    const configPath = values.config === undefined ? {} : { configPath: values.config };
    if (values['check-config']) return { do: 'check-config', ...configPath };
    return { do: 'run', allowRoot: values['allow-root'] === true, ...configPath };
  } catch (error) {
    if (error instanceof TypeError) return usageError(error.message);
    throw error;
  }
}

function usageError(message: string): CommandLine {
  return { do: 'usage', message: `${message.replace(/\s+/g, ' ')}; see tonearm --help` };
}
