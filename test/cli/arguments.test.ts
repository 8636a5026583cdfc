// Tests each form of the command line (docs/configuration.md, "Command line").

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CommandLine, parseArguments } from '../../src/cli/arguments.js';
import { HELP } from '../../src/cli/help.js';

function testParsed(argv: readonly string[], expected: CommandLine): void {
  test(`tonearm ${argv.join(' ')} is understood`, () => assert.deepEqual(parseArguments(argv), expected));
}

/** Expects a message of one line, which contains `namedPart` and refers to `--help`. */
function testRefused(argv: readonly string[], namedPart: string): void {
  test(`tonearm ${JSON.stringify(argv)} is refused`, () => {
    const request = parseArguments(argv);
    assert.ok(request.do === 'wrong', JSON.stringify(request));
    assert.match(request.message, /^[^\n]+; see tonearm --help$/);
    assert.ok(request.message.includes(namedPart), request.message);
  });
}

testParsed([], { do: 'run', allowRoot: false });
testParsed(['--allow-root'], { do: 'run', allowRoot: true });
testParsed(['--config', '/etc/x.yaml'], { do: 'run', allowRoot: false, configPath: '/etc/x.yaml' });
testParsed(['--config=/etc/x.yaml'], { do: 'run', allowRoot: false, configPath: '/etc/x.yaml' });
testParsed(['--config=a=b'], { do: 'run', allowRoot: false, configPath: 'a=b' });
testParsed(['--config=-odd'], { do: 'run', allowRoot: false, configPath: '-odd' });
testParsed(['--config=x', '--allow-root'], { do: 'run', allowRoot: true, configPath: 'x' });
testParsed(['--allow-root', '--config', 'x'], { do: 'run', allowRoot: true, configPath: 'x' });
testParsed(['--check-config'], { do: 'check-config' });
testParsed(['--check-config', '--config', 'x'], { do: 'check-config', configPath: 'x' });
testParsed(['--config', 'x', '--check-config', '--allow-root'], { do: 'check-config', configPath: 'x' });
testParsed(['--version'], { do: 'version' });
testParsed(['--help'], { do: 'help' });
testParsed(['--check-config', '--version', '--help'], { do: 'help' });
testParsed(['progress'], { do: 'progress', args: [] });
testParsed(['progress', '--help', '-x', 'end'], { do: 'progress', args: ['--help', '-x', 'end'] });
testParsed(['trace', '--', 'pactl', '--help'], { do: 'trace', args: ['--', 'pactl', '--help'] });
testParsed(['bench', '--json', '-x'], { do: 'bench', args: ['--json', '-x'] });

testRefused(['--bogus'], "'--bogus'");
testRefused(['--help', '--bogus'], "'--bogus'");
testRefused(['--conf', 'x'], "'--conf'");
testRefused(['--bogus=1'], "'--bogus'");
testRefused(['-c', 'x'], "'-c'");
testRefused(['-'], "'-'");
testRefused(['--toString'], "'--toString'");
testRefused(['--a\nb'], "'--a b'");
testRefused(['serve'], "'serve'");
testRefused([''], "''");
testRefused(['--allow-root', 'progress'], "'progress'");
testRefused(['--config', 'x', 'y'], "'y'");
testRefused(['--config', 'x', '--config', 'y'], '--config is given twice');
testRefused(['--config=x', '--config=x', '--check-config'], '--config is given twice');
testRefused(['--config'], '--config');
testRefused(['--config='], '--config needs a value');
testRefused(['--config', ''], '--config needs a value');
testRefused(['--config', '--allow-root'], "'--config'");
testRefused(['--version=1'], "'--version'");
testRefused(['--allow-root='], "'--allow-root'");

/** The numbers in docs/configuration.md, "Exit statuses". In the help, a blank follows each number. */
const STATUSES = ['0 ', '64 ', '69 ', '74 ', '77 ', '78 ', '126 '];

test('the help names every option, three of the commands and every exit status, and fits a terminal', () => {
  const optionsAndCommands = '--config --allow-root --check-config --version --help progress bench trace';
  for (const word of [...optionsAndCommands.split(' '), ...STATUSES]) assert.ok(HELP.includes(word), word);
  for (const line of HELP.split('\n')) assert.ok(line.length <= 80, line);
  assert.ok(HELP.endsWith('\n'));
});
