// Unit names: the rule of systemd's unit_name_is_valid(), checked by hand against systemctl of systemd 252.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unitName } from '../../../src/supervisor/config/texts.js';

const ACCEPTED = [
  ...'service socket target device mount automount swap timer path'
    .split(' ')
    .map((suffix) => `mpd.${suffix}`),
  ...'app.slice init.scope -.mount a.b.service ..service org.gnome:Shell_1-2.service'.split(' '),
  'dev-disk-by\\x2dlabel.swap',
  ...'player@kitchen.service player@a@b.service player@@.service a@b@.service player@.x.service'.split(' '),
  `${'a'.repeat(247)}.service`,
];

const REFUSED: readonly (readonly [why: RegExp, ...names: string[]])[] = [
  [/empty/, ''],
  [/suffix/, 'mpd', 'mpd.', 'mpd.Service', 'mpd.conf', 'mpd.service '],
  [/before the suffix/, '.service'],
  [/before the @/, '@.service', '@a.service'],
  [/instance/, 'player@.service'],
  [/letters/, 'my player.service', 'a/b.service', '../x.service', 'häuschen.service', 'mpd*.service'],
  [/letters/, 'mpd\n.service', 'mpd\0.service'],
  [/255 bytes/, `${'a'.repeat(248)}.service`, `${'ä'.repeat(124)}.service`],
];

for (const name of ACCEPTED) {
  test(`accepts ${name.slice(0, 40)}`, () => assert.deepEqual(unitName(name), { value: name }));
}

for (const [why, ...names] of REFUSED) {
  for (const name of names) {
    test(`refuses ${JSON.stringify(name.slice(0, 40))}`, () => {
      const verdict = unitName(name);
      assert.match('wrong' in verdict ? verdict.wrong : '', why);
    });
  }
}
