// Checks the completions that `tonearm ctl completion` prints, in real shells. In bash and zsh, the test
// types the beginning of a word and Tab on a terminal. Fish prints its suggestions for the same beginning.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { COMMANDS } from '../../src/cli/ctl/commands.js';
import { SHELLS, type Shell } from '../../src/cli/ctl/completions.js';
import { temporaryFolder } from '../temporary-folder.js';
import { skipReason } from '../tools/requirements.js';
import { SpawnedText } from '../tools/spawned.js';
import { until } from '../until.js';
import { ENTRY } from './daemon.js';

const folder = temporaryFolder({ after });
const ENV = { PATH: process.env['PATH'] ?? '', HOME: folder, TERM: 'dumb', LC_ALL: 'C.UTF-8' };
const PROMPT = 'ready> ';
/**
 * The terminal echoes this line. The line has the prompt in two parts, `'r''eady> '`, so that the echo does
 * not count as a prompt.
 */
const SET_PROMPT = `PS1='${PROMPT.slice(0, 1)}''${PROMPT.slice(1)}'`;

/** A shell function, which is called in place of the program. The function prints its arguments. */
const PRINT_ARGUMENTS = 'tonearm() { echo "[$*]"; }';

function fileFor(shell: Shell): string {
  const file = join(folder, shell);
  writeFileSync(file, execFileSync(process.execPath, [ENTRY, 'ctl', 'completion', shell]));
  return file;
}

/** The keys that somebody types, and what `PRINT_ARGUMENTS` prints after the completion. */
const TYPED: readonly (readonly [keys: string, line: string])[] = [
  ['tonearm c\t', '[ctl]'],
  ['tonearm --al\t', '[--allow-root]'],
  ['tonearm ctl --v\t', '[ctl --version]'],
  ['tonearm ctl output-vol\t', '[ctl output-volume]'],
  ['tonearm ctl --node kitchen output-vol\t', '[ctl --node kitchen output-volume]'],
  // No space follows a completion that ends with `=`, so that the value can be typed next.
  ['tonearm ctl output-volume kitchen del\t5', '[ctl output-volume kitchen delta=5]'],
  ['tonearm ctl mute-output kitchen to\t', '[ctl mute-output kitchen toggle]'],
  ['tonearm ctl start-unit us\t', '[ctl start-unit user]'],
  ['tonearm ctl watch player.tr\t', '[ctl watch player.tracklist.updated]'],
];

/**
 * Starts a shell on a terminal, and enters the lines of `setUp`. Then it types the keys of each row of
 * `TYPED`, and waits until the shell prints the row's line.
 */
async function typeInShell(setUp: readonly string[], shellCommand: string): Promise<void> {
  // script(1) gives the shell a terminal.
  const terminal = spawn('script', ['-qec', shellCommand, '/dev/null'], { env: ENV });
  const printed = new SpawnedText(terminal.stdout, terminal.stderr);
  const untilPrompts = (expectedCount: number): Promise<unknown> =>
    until('the shell waits for a line', () => {
      const promptCount = printed.text.split(PROMPT).length - 1;
      return promptCount >= expectedCount;
    });
  try {
    terminal.stdin.write(`${setUp.join('\n')}\n`);
    for (const [index, [keys, line]] of TYPED.entries()) {
      // There is one prompt before the first row, and one more after each row.
      await untilPrompts(index + 1);
      terminal.stdin.write(`${keys}\n`);
      await until(`${JSON.stringify(keys)} becomes ${line}`, () => {
        // `until` prints this error at its deadline.
        if (!printed.text.includes(`\n${line}\r\n`))
          throw new Error(JSON.stringify(printed.text.slice(-400)));
        return true;
      });
    }
  } finally {
    terminal.kill('SIGKILL');
  }
}

/** The programs that the test of each shell needs. */
const PROGRAMS: Readonly<Record<Shell, readonly string[]>> = {
  bash: ['bash', 'script'],
  zsh: ['zsh', 'script'],
  fish: ['fish'],
};

for (const shell of SHELLS)
  test(`the completions for ${shell} name every operation`, () => {
    const text = execFileSync(process.execPath, [ENTRY, 'ctl', 'completion', shell], { encoding: 'utf8' });
    for (const name of Object.keys(COMMANDS)) assert.ok(text.includes(name), name);
  });

test('bash completes what is typed', { skip: skipReason({ programs: PROGRAMS.bash }) }, () => {
  const setUp = [`source ${fileFor('bash')}`, PRINT_ARGUMENTS, SET_PROMPT];
  return typeInShell(setUp, 'bash --norc --noprofile -i');
});

test('zsh completes what is typed', { skip: skipReason({ programs: PROGRAMS.zsh }) }, () => {
  const setUp = [
    'autoload -Uz compinit; compinit -u -D',
    `source ${fileFor('zsh')}`,
    PRINT_ARGUMENTS,
    SET_PROMPT,
  ];
  return typeInShell(setUp, 'zsh -f -i');
});

test('fish completes what is typed', { skip: skipReason({ programs: PROGRAMS.fish }) }, () => {
  // `complete -C` prints the suggestions for a line, so fish needs no terminal.
  const file = fileFor('fish');
  for (const [keys, line] of TYPED) {
    const typed = keys.slice(0, keys.indexOf('\t'));
    const commands = [`source ${file}`, `complete -C ${JSON.stringify(typed)}`];
    const found = execFileSync('fish', ['--no-config', '-c', commands.join('\n')], {
      env: ENV,
      encoding: 'utf8',
    });
    const suggestedWords = found
      .trimEnd()
      .split('\n')
      .map((suggestion) => suggestion.replace(/\t.*/, ''));
    // For `[ctl output-volume kitchen delta=5]`, the expected word is `delta=`.
    const expected = line.slice(1, -1).split(' ').at(-1)?.replace(/=.*/, '=');
    assert.deepEqual(suggestedWords, [expected], typed);
  }
});
