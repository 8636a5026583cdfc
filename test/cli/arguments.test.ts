// The command line, a row per form of it (docs/configuration.md, "Command line").

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CommandLine, parseArguments } from '../../src/cli/arguments.js';
import { HELP } from '../../src/cli/help.js';

function check(argv: readonly string[], expected: CommandLine): void {
  test(`tonearm ${argv.join(' ')}`, () => assert.deepEqual(parseArguments(argv), expected));
}

/** The message is one line that names the fault, and where to read more. */
function refused(argv: readonly string[], named: string): void {
  test(`tonearm ${JSON.stringify(argv)} is refused`, () => {
    const request = parseArguments(argv);
    assert.ok(request.do === 'wrong', JSON.stringify(request));
    assert.match(request.message, /^[^\n]+; see tonearm --help$/);
    assert.ok(request.message.includes(named), request.message);
  });
}

check([], { do: 'run', allowRoot: false });
check(['--allow-root'], { do: 'run', allowRoot: true });
check(['--config', '/etc/x.yaml'], { do: 'run', allowRoot: false, configPath: '/etc/x.yaml' });
check(['--config=/etc/x.yaml'], { do: 'run', allowRoot: false, configPath: '/etc/x.yaml' });
check(['--config=a=b'], { do: 'run', allowRoot: false, configPath: 'a=b' });
check(['--config=-odd'], { do: 'run', allowRoot: false, configPath: '-odd' });
check(['--config=x', '--allow-root'], { do: 'run', allowRoot: true, configPath: 'x' });
check(['--allow-root', '--config', 'x'], { do: 'run', allowRoot: true, configPath: 'x' });
check(['--check-config'], { do: 'check-config' });
check(['--check-config', '--config', 'x'], { do: 'check-config', configPath: 'x' });
check(['--config', 'x', '--check-config', '--allow-root'], { do: 'check-config', configPath: 'x' });
check(['--version'], { do: 'version' });
check(['--help'], { do: 'help' });
check(['--check-config', '--version', '--help'], { do: 'help' });
check(['progress'], { do: 'progress', args: [] });
check(['progress', '--help', '-x', 'end'], { do: 'progress', args: ['--help', '-x', 'end'] });
check(['trace', '--', 'pactl', '--help'], { do: 'trace', args: ['--', 'pactl', '--help'] });
check(['bench', '--json', '-x'], { do: 'bench', args: ['--json', '-x'] });

refused(['--bogus'], "'--bogus'");
refused(['--help', '--bogus'], "'--bogus'");
refused(['--conf', 'x'], "'--conf'");
refused(['--bogus=1'], "'--bogus'");
refused(['-c', 'x'], "'-c'");
refused(['-'], "'-'");
refused(['--toString'], "'--toString'");
refused(['--a\nb'], "'--a b'");
refused(['serve'], "'serve'");
refused([''], "''");
refused(['--allow-root', 'progress'], "'progress'");
refused(['--config', 'x', 'y'], "'y'");
refused(['--config', 'x', '--config', 'y'], '--config is given twice');
refused(['--config=x', '--config=x', '--check-config'], '--config is given twice');
refused(['--config'], '--config');
refused(['--config='], '--config needs a value');
refused(['--config', ''], '--config needs a value');
refused(['--config', '--allow-root'], "'--config'");
refused(['--version=1'], "'--version'");
refused(['--allow-root='], "'--allow-root'");

/** Those of docs/configuration.md, "Exit statuses", that a shell can see. */
const STATUSES = ['0 ', '64 ', '69 ', '74 ', '77 ', '78 ', '126 '];

test('the help names every option and every exit status, and fits a terminal', () => {
  const words = '--config --allow-root --check-config --version --help progress bench trace';
  for (const word of [...words.split(' '), ...STATUSES]) assert.ok(HELP.includes(word), word);
  for (const line of HELP.split('\n')) assert.ok(line.length <= 80, line);
  assert.ok(HELP.endsWith('\n'));
});
