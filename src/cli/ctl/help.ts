// Makes the texts of `tonearm ctl --help` and `tonearm ctl OPERATION --help`. Pure.

import { COMMANDS, type CommandField, type CtlCommand } from './commands.js';
import { EXIT, type ExitName, MEANINGS } from './statuses.js';
import { placeholder } from './words.js';

const HEAD = `Usage: tonearm ctl [--node NODE] [--json] OPERATION [WORD...]
       tonearm ctl [--node NODE] [--json] watch [TYPE...]
       tonearm ctl OPERATION --help
       tonearm ctl completion bash|zsh|fish

Asks a node, or lets it do something. The words behind an operation are what its
path names, then its fields: each in its turn, or as FIELD=VALUE.

  --node NODE  a host, a host with its port, or a URL, each of which may begin
               with USER:PASSWORD@; by default $TONEARM_NODE, else the node on
               this machine, where its configuration says
  --json       print the answer as JSON
  --help       print this text, or what an operation takes
  --version    print the version

  watch        print each event of the types, or of all, as one line, until it
               is ended; "audio" stands for all types that begin with "audio."
  completion   print the completions for a shell

Outputs, inputs, cards, clients, players, units and Bluetooth devices may be
called by what people call them, in small or large letters. A volume is 0.4 or
40%, +5% or -5%; a switch is on or off, and a mute also toggle; a time is in
microseconds, or with ms, s or m behind it.
`;

/** The width for a signature (`signatureOf`). If a signature is longer, its summary is on the next line. */
const SIGNATURE_COLUMNS = 34;

export function ctlHelp(): string {
  const sections = [...new Set(Object.values(COMMANDS).map(({ section }) => section))];
  const lists = sections.map((section) => {
    const commands = Object.entries(COMMANDS).filter(([, command]) => command.section === section);
    return `\n${section}:\n${commands.map(([name, command]) => helpEntry(name, command)).join('')}`;
  });
  return HEAD + lists.join('') + statusLines();
}

function helpEntry(name: string, command: CtlCommand): string {
  const signature = signatureOf(name, command);
  const isTooLong = signature.length > SIGNATURE_COLUMNS;
  const lineBreak = isTooLong ? `\n${' '.repeat(SIGNATURE_COLUMNS + 2)}` : '';
  return `  ${signature.padEnd(SIGNATURE_COLUMNS)}${lineBreak}  ${command.summary}\n`;
}

/** The name of a command and the words that it takes, such as `output-volume OUTPUT VOLUME|DELTA`. */
function signatureOf(name: string, { parameters, fields, required }: CtlCommand): string {
  const optional = fields.filter((field) => !required.flat().includes(field.name));
  return [
    name,
    ...parameters.map((parameter) => placeholder(parameter.name)),
    ...required.map((alternatives) => alternatives.map(placeholder).join('|')),
    ...optional.map((field) => `[${placeholder(field.name)}]`),
  ].join(' ');
}

function statusLines(): string {
  const names = Object.keys(EXIT) as ExitName[];
  const rows = names.map((name) => `  ${String(EXIT[name]).padEnd(4)}${MEANINGS[name]}\n`);
  return `\nExit status:\n${rows.join('')}`;
}

export function commandHelp(name: string, command: CtlCommand): string {
  const { parameters, fields, toggles, summary, route } = command;
  const words: readonly (readonly [word: string, text: string])[] = [
    ...parameters.map((parameter) => [parameter.name, parameter.values?.join(' or ') ?? 'a name'] as const),
    ...fields.map((field) => [field.name, fieldHelp(field, toggles)] as const),
  ];
  // Without words this is -Infinity, but then there is no line that uses it.
  const width = Math.max(...words.map(([word]) => placeholder(word).length));
  const lines = words.map(([word, text]) => `  ${placeholder(word).padEnd(width)}  ${text}\n`).join('');
  const emptyLine = lines === '' ? '' : '\n';
  const usage = `Usage: tonearm ctl ${signatureOf(name, command)}\n`;
  return `${usage}\n${summary} (${route}).\n${emptyLine}${lines}`;
}

/**
 * True for a bound that the help mentions. The bounds of `EXACT_INTEGERS` (schemas.ts) only keep a number
 * exact, so the help does not mention them.
 */
const isRealBound = (bound: number | undefined): boolean =>
  bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER;

function fieldHelp(field: CommandField, toggles: boolean): string {
  const { name, type, values, minimum, maximum, description } = field;
  const switchWords = toggles ? 'on, off or toggle' : 'on or off';
  const kindByType = {
    boolean: switchWords,
    string: 'a text',
    number: 'a number',
    integer: 'a whole number',
  };
  const from = isRealBound(minimum) ? `from ${minimum}` : '';
  const to = isRealBound(maximum) ? `to ${maximum}` : '';
  const kind = values?.join(', ') ?? kindByType[type];
  const kindAndRange = [kind, from, to].filter(Boolean).join(' ');
  return [kindAndRange, description, `as a named word: ${name}=`].filter(Boolean).join('; ');
}
