// Decides which completions bash, zsh and fish offer for `tonearm`. Names of outputs, players and the like
// are not among them, because no request goes to a node while somebody types. Pure.

import { TOGGLE_WORD } from '../../protocol/actor/plain-values.js';
import { COMMANDS, type CtlCommand, EVENT_TYPES } from './commands.js';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/** The words that are offered directly after `tonearm`. */
const PROGRAM_WORDS: readonly (readonly [word: string, summary: string])[] = [
  ['ctl', 'Asks a node, or lets it do something'],
  ['progress', 'Writes one line of upgrade progress'],
  ['bench', 'Measures what this machine can carry'],
  ['trace', 'Shows the messages of the sound server'],
  ['--check-config', 'Prints the configuration, or its problems'],
  ['--config', 'Reads this file'],
  ['--allow-root', 'Starts even as root'],
  ['--help', 'Prints the help'],
  ['--version', 'Prints the version'],
];
const CTL_OPTIONS = ['--node', '--json', '--help', '--version'];
const SWITCH_VALUES = ['on', 'off'];

interface OfferedOperation {
  readonly name: string;
  readonly summary: string;
  /** The words that are offered behind the operation. A word such as `volume=` needs a value behind it. */
  readonly words: readonly string[];
}

export function completions(shell: Shell): string {
  const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };
  return scripts[shell](offeredOperations());
}

function offeredOperations(): readonly OfferedOperation[] {
  const operations = Object.entries(COMMANDS).map(([name, command]) => ({
    name,
    summary: command.summary,
    words: wordsAfter(command),
  }));
  const watch = { name: 'watch', summary: 'Prints events as they come', words: EVENT_TYPES };
  const completion = { name: 'completion', summary: 'Prints the completions for a shell', words: SHELLS };
  return [...operations, watch, completion];
}

function wordsAfter({ parameters, fields, toggles }: CtlCommand): readonly string[] {
  const fieldNames = fields.map(({ name }) => `${name}=`);
  const allowedValues = [...parameters, ...fields].flatMap(({ values = [] }) => values);
  const hasSwitch = fields.some(({ type }) => type === 'boolean');
  const switchWords = hasSwitch ? SWITCH_VALUES : [];
  const toggleWords = toggles ? [TOGGLE_WORD] : [];
  return [...allowedValues, ...switchWords, ...toggleWords, ...fieldNames];
}

/** Quotes a text, so that it is one word for zsh: `it's` becomes `'it'\''s'`. */
function zshQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const originLine = (shell: Shell): string => `# Made by \`tonearm ctl completion ${shell}\`.`;

/**
 * The script offers words directly after `tonearm` and after `tonearm ctl`. After `tonearm bench` and the
 * like, bash offers names of files. Bash splits `--node=kitchen` into three words, so the script skips a word
 * `=` behind `--node`. While somebody types the value of `--node`, the script offers nothing: the loop over
 * the words returns from the function. A value follows directly behind a word that ends in `=`, so `nospace`
 * keeps bash from adding a space. The script tests only the first completion in `COMPREPLY`, because bash
 * adds a space only if there is no second completion.
 */
function bashScript(operations: readonly OfferedOperation[]): string {
  const programWords = PROGRAM_WORDS.map(([word]) => word).join(' ');
  const names = [...operations.map(({ name }) => name), ...CTL_OPTIONS].join(' ');
  const cases = operations
    .filter(({ words }) => words.length > 0)
    .map(({ name, words }) => `    ${name}) words='${words.join(' ')}' ;;\n`);
  return `${originLine('bash')}
_tonearm() {
  local current=\${COMP_WORDS[COMP_CWORD]} operation='' words='' at
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${programWords}' -- "$current"))
    return
  fi
  if [ "\${COMP_WORDS[1]}" != ctl ]; then
    compopt -o default
    return
  fi
  for ((at = 2; at < COMP_CWORD; at++)); do
    case \${COMP_WORDS[at]} in
      --node)
        at=$((at + 1))
        [ "\${COMP_WORDS[at]}" != = ] || at=$((at + 1))
        [ "$at" -lt "$COMP_CWORD" ] || return
        ;;
      -*) ;;
      *)
        operation=\${COMP_WORDS[at]}
        break
        ;;
    esac
  done
  case $operation in
    '') words='${names}' ;;
${cases.join('')}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ \${COMPREPLY-} != *= ]] || compopt -o nospace
}
complete -F _tonearm tonearm
`;
}

/**
 * Zsh can load the script in two ways. If the script is the file `_tonearm` in a folder of `fpath`, zsh runs
 * the whole script as a function `_tonearm` at the first completion. Then `funcstack[1]`, the name of the
 * running function, is `_tonearm`. So the script calls the function `_tonearm` that it has just defined. If
 * zsh reads the script with `source`, the script only registers the function that it defines.
 */
function zshScript(operations: readonly OfferedOperation[]): string {
  // A colon stands between word and summary, so colons inside them are escaped.
  const described = (word: string, summary: string): string =>
    zshQuoted(`${word.replaceAll(':', '\\:')}:${summary.replaceAll(':', '\\:')}`);
  const programWords = PROGRAM_WORDS.map(([word, summary]) => described(word, summary));
  const names = operations.map(({ name, summary }) => described(name, summary));
  const cases = operations
    .filter(({ words }) => words.length > 0)
    .map(({ name, words }) => {
      const wholeWords = words.filter((word) => !word.endsWith('='));
      const wordsBeforeValue = words.filter((word) => word.endsWith('='));
      const commands: string[] = [];
      if (wholeWords.length > 0) commands.push(`compadd -- ${wholeWords.join(' ')}`);
      // Zsh adds no space behind these words (`-S ''`), because their values follow directly.
      if (wordsBeforeValue.length > 0) commands.push(`compadd -S '' -- ${wordsBeforeValue.join(' ')}`);
      return `    ${name}) ${commands.join('; ')} ;;\n`;
    });
  return `#compdef tonearm
${originLine('zsh')}
_tonearm() {
  local operation='' at
  local -a found
  if (( CURRENT == 2 )); then
    found=(${programWords.join(' ')})
    _describe -t commands command found
    return
  fi
  if [[ $words[2] != ctl ]]; then
    _files
    return
  fi
  for (( at = 3; at < CURRENT; at++ )); do
    case $words[at] in
      --node)
        (( at += 1 ))
        (( at < CURRENT )) || return
        ;;
      -*) ;;
      *)
        operation=$words[at]
        break
        ;;
    esac
  done
  case $operation in
    '')
      found=(${names.join('\n        ')})
      _describe -t operations operation found
      compadd -- ${CTL_OPTIONS.join(' ')}
      ;;
${cases.join('')}  esac
}
# It is loaded by its name, or read by the shell.
if [ "$funcstack[1]" = _tonearm ]; then
  _tonearm "$@"
else
  compdef _tonearm tonearm
fi
`;
}

/**
 * `commandline -opc` prints the words before the cursor, without the word that somebody is typing.
 * `set -e words[1 2]` removes `tonearm` and `ctl`. With `-f`, fish offers no names of files.
 */
function fishScript(operations: readonly OfferedOperation[]): string {
  const programLines = PROGRAM_WORDS.map(
    ([word, summary]) => `complete -c tonearm -n __tonearm_is_first -a ${word} -d ${fishQuoted(summary)}\n`,
  );
  const operationLines = operations.map(
    ({ name, summary }) => `complete -c tonearm -n '__tonearm_ctl ""' -a ${name} -d ${fishQuoted(summary)}\n`,
  );
  const wordLines = operations
    .filter(({ words }) => words.length > 0)
    .map(({ name, words }) => `complete -c tonearm -n '__tonearm_ctl ${name}' -a '${words.join(' ')}'\n`);
  return `${originLine('fish')}
function __tonearm_is_first
    test (count (commandline -opc)) = 1
end
function __tonearm_is_ctl
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = ctl
end
# True if this operation is on the command line; "" stands for none.
function __tonearm_ctl
    __tonearm_is_ctl; or return 1
    set -l words (commandline -opc)
    set -e words[1 2]
    set -l operation ''
    set -l is_value 0
    for word in $words
        if test $is_value = 1
            set is_value 0
            continue
        end
        switch $word
            case --node
                set is_value 1
            case '-*'
            case '*'
                set operation $word
                break
        end
    end
    test $is_value = 0; and test "$operation" = "$argv[1]"
end
complete -c tonearm -n '__tonearm_is_first; or __tonearm_is_ctl' -f
complete -c tonearm -n '__tonearm_ctl ""' -a '${CTL_OPTIONS.join(' ')}'
${programLines.join('')}${operationLines.join('')}${wordLines.join('')}`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
