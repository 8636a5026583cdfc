// Tests the command line of `tonearm trace`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTrace, type TraceTask } from '../../../src/cli/trace/trace.js';

function testParsed(args: readonly string[], task: Partial<TraceTask>): void {
  test(`trace ${args.join(' ')} is understood`, () => {
    const defaults = { do: 'trace', raw: undefined, data: false, json: false, command: [] };
    assert.deepEqual(parseTrace(args), { ...defaults, ...task });
  });
}

/** Expects a message of one line, which contains `namedPart` and refers to `--help`. */
function testRefused(args: readonly string[], namedPart: string): void {
  test(`trace ${args.join(' ')} is refused`, () => {
    const request = parseTrace(args);
    assert.ok(request.do === 'wrong', JSON.stringify(request));
    assert.match(request.message, /^[^\n]+; see tonearm trace --help$/);
    assert.ok(request.message.includes(namedPart), request.message);
  });
}

testParsed([], {});
testParsed(['--json', '--data'], { json: true, data: true });
testParsed(['--raw', 'x', '--json'], { raw: 'x', json: true });
testParsed(['--raw=x.json'], { raw: 'x.json' });
testParsed(['--', 'pactl', 'info'], { command: ['pactl', 'info'] });
testParsed(['--json', '--', 'mpv', '--raw', '--', '-x'], {
  json: true,
  command: ['mpv', '--raw', '--', '-x'],
});
testParsed(['--', 'env', '--help'], { command: ['env', '--help'] });

testRefused(['pactl'], "'pactl'");
testRefused(['pactl', '--', 'info'], "'pactl'");
testRefused(['--raw'], '--raw');
testRefused(['--raw', '--', 'pactl'], '--raw');
testRefused(['--raw='], '--raw needs a value');
testRefused(['--'], 'a command must follow --');
testRefused(['--', ''], 'a command must follow --');
testRefused(['--seconds', '5'], "'--seconds'");

test('trace --help names every option and COMMAND, and fits a terminal', () => {
  const request = parseTrace(['--json', '--help', '--', 'x']);
  assert.ok(request.do === 'help');
  for (const option of ['--raw', '--data', '--json', '-- COMMAND'])
    assert.ok(request.text.includes(option), option);
  for (const line of request.text.split('\n')) assert.ok(line.length <= 80, line);
});
