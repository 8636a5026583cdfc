// `pulseaudio.listen` and `listenLatency`: the accepted values, and the problem that each refused value
// causes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configurationOf, problemsIn } from './full.js';

test('pulseaudio.listen has an output for each input, and listenLatency is for all inputs', async () => {
  const yaml = 'pulseaudio: {listen: {mike: living, line: tonearm.all}, listenLatency: 250}';
  const { settings, warnings } = await configurationOf(yaml);
  const { listen, listenLatency } = settings.audio;
  assert.deepEqual([listen, listenLatency], [{ mike: 'living', line: 'tonearm.all' }, 250]);
  assert.deepEqual(warnings, []);
});

const NINE_INPUTS = 'a: x, b: x, c: x, d: x, e: x, f: x, g: x, h: x, i: x';

/** A problem begins with its line and column. In `pulseaudio: {...}` the keys begin at 1:14. */
const REFUSED: readonly (readonly [keys: string, problem: string])[] = [
  ['listen: [a]', '1:22: pulseaudio.listen: must be a map by name, not a list'],
  ['listen: {a: {}}', '1:26: pulseaudio.listen.a: must be the name of an output, not a map'],
  [
    'listen: {a: "x y"}',
    '1:26: pulseaudio.listen.a: "x y" is not the name of an output: a name has no blank, quote or backslash',
  ],
  [
    'listen: {"a b": x}',
    '1:23: pulseaudio.listen."a b": is not the name of an input: a name has no blank, quote or backslash',
  ],
  [`listen: {${NINE_INPUTS}}`, '1:71: pulseaudio.listen.i: there are 9 inputs, 8 are allowed'],
  ['listenLatency: 20', '1:29: pulseaudio.listenLatency: must be a whole number from 50 to 1000, not 20'],
];

for (const [keys, problem] of REFUSED)
  test(`pulseaudio with ${keys.slice(0, 60)} is refused`, async () => {
    // `problemsIn` calls the file of its first text `a`.
    assert.deepEqual(await problemsIn(`pulseaudio: {${keys}}`), [`a:${problem}`]);
  });
