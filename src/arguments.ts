// The command line: argv -> one of a closed set of things to do. Pure; prints nothing and ends nothing.

/** What the command line asks for. `configPath` is absent when the usual places are to be searched. */
export type Request =
  | { readonly do: 'run'; readonly allowRoot: boolean; readonly configPath?: string }
  | { readonly do: 'check-config'; readonly configPath?: string }
  | { readonly do: 'version' }
  | { readonly do: 'help' }
  /** `args` are those behind the word `progress`, unread. */
  | { readonly do: 'progress'; readonly args: readonly string[] }
  /** The command line is wrong (EX_USAGE); `message` is one line that says how. */
  | { readonly do: 'usage'; readonly message: string };

export const HELP = `Usage: tonearm [--config PATH] [--allow-root]
       tonearm [--config PATH] --check-config
       tonearm progress ...

Controls one networked audio node over HTTP and server-sent events.

  --config PATH    read PATH and the conf.d beside it; otherwise the first of
                   $XDG_CONFIG_HOME/tonearm/config.yaml (that is
                   ~/.config/tonearm/config.yaml), /etc/tonearm/config.yaml,
                   built-in defaults
  --allow-root     run even as root
  --check-config   print the effective configuration, or what is wrong with it
  --version        print the version
  --help           print this text

  progress ...     write one line of upgrade progress, for shell scripts

Exit status: 0 success, 64 wrong usage, 69 cannot listen,
             77 refuses to run as root, 78 wrong configuration
`;

const OPTIONS = {
  '--config': { takesValue: true },
  '--allow-root': { takesValue: false },
  '--check-config': { takesValue: false },
  '--version': { takesValue: false },
  '--help': { takesValue: false },
} as const;

type Option = keyof typeof OPTIONS;

/** `argv` is what follows the program's own name. */
export function parseArguments(argv: readonly string[]): Request {
  if (argv[0] === 'progress') return { do: 'progress', args: argv.slice(1) };
  const given = new Map<Option, string>();
  const rest = [...argv];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    const wrong = takeOption(argument, rest, given);
    if (wrong !== undefined) return { do: 'usage', message: `${wrong}; see tonearm --help` };
  }
  return requestOf(given);
}

/** Files `argument`, with a value from `rest` if it needs one; answers what is wrong with it, if anything. */
function takeOption(argument: string, rest: string[], given: Map<Option, string>): string | undefined {
  if (!argument.startsWith('-')) return `unexpected argument ${JSON.stringify(argument)}`;
  const equals = argument.indexOf('=');
  const name = equals < 0 ? argument : argument.slice(0, equals);
  if (!isOption(name)) return `unknown option ${JSON.stringify(name)}`;
  if (given.has(name)) return `${name} is given twice`;
  if (!OPTIONS[name].takesValue) {
    given.set(name, '');
    return equals < 0 ? undefined : `${name} takes no value`;
  }
  const value = equals < 0 ? nextValue(rest) : argument.slice(equals + 1);
  if (value === undefined || value === '') return `${name} needs a value`;
  given.set(name, value);
  return undefined;
}

/** An option where the value should be is a forgotten value; `--config=-odd` still names such a file. */
function nextValue(rest: string[]): string | undefined {
  return rest[0]?.startsWith('-') ? undefined : rest.shift();
}

function isOption(name: string): name is Option {
  return Object.hasOwn(OPTIONS, name);
}

function requestOf(given: ReadonlyMap<Option, string>): Request {
  const path = given.get('--config');
  const configPath = path === undefined ? {} : { configPath: path };
  if (given.has('--help')) return { do: 'help' };
  if (given.has('--version')) return { do: 'version' };
  if (given.has('--check-config')) return { do: 'check-config', ...configPath };
  return { do: 'run', allowRoot: given.has('--allow-root'), ...configPath };
}
