// `pulseaudio.groups`: the accepted values, and the problem that each refused value causes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configurationOf, problemsIn } from './full.js';

test('groups have outputs, and may have a label', async () => {
  const yaml =
    'pulseaudio: {groups: {all: {label: Überall, outputs: [alsa_output.usb-0, kitchen]}, a-1_b: {outputs: [kitchen]}}}';
  const { settings, warnings } = await configurationOf(yaml);
  assert.deepEqual(settings.audio.groups, {
    all: { label: 'Überall', outputs: ['alsa_output.usb-0', 'kitchen'] },
    'a-1_b': { outputs: ['kitchen'] },
  });
  assert.deepEqual(warnings, []);
});

const NAME_RULE = 'a group is called by 1 to 32 of the characters a-z, 0-9, _ and -';
const NINE_GROUPS = Array.from('abcdefghi', (name) => `${name}: {outputs: [x]}`).join(', ');

/** A problem begins with its line and column. In `pulseaudio: {groups: ...}` the groups begin at 1:22. */
const REFUSED: readonly (readonly [groups: string, problem: string])[] = [
  ['[a]', '1:22: pulseaudio.groups: must be a map by name, not a list'],
  ['{a: [x]}', '1:26: pulseaudio.groups.a: must be a map of label and outputs, not a list'],
  ['{a: {label: A}}', '1:26: pulseaudio.groups.a.outputs: is required'],
  ['{a: {outputs: []}}', '1:36: pulseaudio.groups.a.outputs: must not be an empty list'],
  // A key without a value counts as an empty list.
  ['{a: {outputs: }}', '1:36: pulseaudio.groups.a.outputs: must not be an empty list'],
  ['{a: {outputs: x}}', '1:36: pulseaudio.groups.a.outputs: must be a list, not the text "x"'],
  ['{a: {outputs: [x, y, x]}}', '1:43: pulseaudio.groups.a.outputs[2]: x is listed twice, first on line 1'],
  [
    '{a: {outputs: ["x,y"]}}',
    '1:37: pulseaudio.groups.a.outputs[0]: "x,y" is not the name of an output: a name has no blank, comma, quote or backslash',
  ],
  [
    '{a: {outputs: [tonearm.b]}}',
    '1:37: pulseaudio.groups.a.outputs[0]: "tonearm.b" is not the name of an output: it is a group itself; name its outputs',
  ],
  [
    '{a: {outputs: ["@DEFAULT_SINK@"]}}',
    '1:37: pulseaudio.groups.a.outputs[0]: "@DEFAULT_SINK@" is not the name of an output: a name does not begin with @',
  ],
  [
    '{a: {outputs: [""]}}',
    '1:37: pulseaudio.groups.a.outputs[0]: "" is not the name of an output: a name has 1 to 127 characters',
  ],
  ['{A b: {outputs: [x]}}', `1:23: pulseaudio.groups."A b": ${NAME_RULE}`],
  [`{${'a'.repeat(33)}: {outputs: [x]}}`, `1:23: pulseaudio.groups.${'a'.repeat(33)}: ${NAME_RULE}`],
  [`{${NINE_GROUPS}}`, '1:175: pulseaudio.groups.i: there are 9 groups, 8 are allowed'],
];

for (const [groups, problem] of REFUSED)
  test(`pulseaudio.groups ${groups.slice(0, 60)} is refused`, async () => {
    const actual = await problemsIn(`pulseaudio: {groups: ${groups}}`);
    // The name of the file is `a` (full.ts).
    assert.deepEqual(actual, [`a:${problem}`]);
  });
