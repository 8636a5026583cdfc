// The command line, a row per form of it (contract, section 1).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HELP, parseArguments, type Request } from '../src/arguments.js';

function check(argv: readonly string[], expected: Request): void {
  test(`tonearm ${argv.join(' ')}`, () => assert.deepEqual(parseArguments(argv), expected));
}

function refused(argv: readonly string[], message: string): void {
  check(argv, { do: 'usage', message: `${message}; see tonearm --help` });
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

refused(['--bogus'], 'unknown option "--bogus"');
refused(['--help', '--bogus'], 'unknown option "--bogus"');
refused(['--conf', 'x'], 'unknown option "--conf"');
refused(['--bogus=1'], 'unknown option "--bogus"');
refused(['-c', 'x'], 'unknown option "-c"');
refused(['-'], 'unknown option "-"');
refused(['--'], 'unknown option "--"');
refused(['--toString'], 'unknown option "--toString"');
refused(['--a\nb'], 'unknown option "--a\\nb"');
refused(['serve'], 'unexpected argument "serve"');
refused([''], 'unexpected argument ""');
refused(['--allow-root', 'progress'], 'unexpected argument "progress"');
refused(['--config', 'x', 'y'], 'unexpected argument "y"');
refused(['--config=x', 'y'], 'unexpected argument "y"');
refused(['--config'], '--config needs a value');
refused(['--config='], '--config needs a value');
refused(['--config', ''], '--config needs a value');
refused(['--config', '--allow-root'], '--config needs a value');
refused(['--config', 'x', '--config', 'y'], '--config is given twice');
refused(['--allow-root', '--allow-root'], '--allow-root is given twice');
refused(['--version=1'], '--version takes no value');
refused(['--allow-root='], '--allow-root takes no value');

test('the help names every option and fits a terminal', () => {
  for (const option of ['--config', '--allow-root', '--check-config', '--version', '--help', 'progress']) {
    assert.ok(HELP.includes(option), option);
  }
  for (const line of HELP.split('\n')) assert.ok(line.length <= 80, line);
  assert.ok(HELP.endsWith('\n'));
});
