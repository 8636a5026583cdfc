// `tonearm trace`: its command line.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTrace, type TraceTask } from '../../../src/cli/trace/trace.js';

function traces(args: readonly string[], task: Partial<TraceTask>): void {
  test(`trace ${args.join(' ')}`, () => {
    const usual = { do: 'trace', raw: undefined, data: false, json: false, command: [] };
    assert.deepEqual(parseTrace(args), { ...usual, ...task });
  });
}

function wrong(args: readonly string[], named: string): void {
  test(`trace ${args.join(' ')} is refused`, () => {
    const request = parseTrace(args);
    assert.ok(request.do === 'wrong', JSON.stringify(request));
    assert.match(request.message, /^[^\n]+; see tonearm trace --help$/);
    assert.ok(request.message.includes(named), request.message);
  });
}

traces([], {});
traces(['--json', '--data'], { json: true, data: true });
traces(['--raw', 'x', '--json'], { raw: 'x', json: true });
traces(['--raw=x.json'], { raw: 'x.json' });
traces(['--', 'pactl', 'info'], { command: ['pactl', 'info'] });
traces(['--json', '--', 'mpv', '--raw', '--', '-x'], { json: true, command: ['mpv', '--raw', '--', '-x'] });
traces(['--', 'env', '--help'], { command: ['env', '--help'] });

wrong(['pactl'], "'pactl'");
wrong(['pactl', '--', 'info'], "'pactl'");
wrong(['--raw'], '--raw');
wrong(['--raw', '--', 'pactl'], '--raw');
wrong(['--raw='], '--raw needs a value');
wrong(['--'], 'a command must follow --');
wrong(['--', ''], 'a command must follow --');
wrong(['--seconds', '5'], "'--seconds'");

test('trace --help fits a terminal', () => {
  const request = parseTrace(['--json', '--help', '--', 'x']);
  assert.ok(request.do === 'help');
  for (const option of ['--raw', '--data', '--json', '-- COMMAND'])
    assert.ok(request.text.includes(option), option);
  for (const line of request.text.split('\n')) assert.ok(line.length <= 80, line);
});
