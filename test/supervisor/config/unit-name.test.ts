// Unit names: the rule of systemd's unit_name_is_valid(), checked by hand against systemctl of systemd 252.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unitName } from '../../../src/supervisor/config/texts.js';

function accepted(name: string): void {
  test(`accepts ${name.slice(0, 40)}`, () => assert.deepEqual(unitName(name), { value: name }));
}

function refused(name: string, why: RegExp): void {
  test(`refuses ${JSON.stringify(name.slice(0, 40))}`, () => {
    const verdict = unitName(name);
    assert.match('wrong' in verdict ? verdict.wrong : '', why);
  });
}

for (const suffix of [
  'service',
  'socket',
  'target',
  'device',
  'mount',
  'automount',
  'swap',
  'timer',
  'path',
]) {
  accepted(`mpd.${suffix}`);
}
accepted('app.slice');
accepted('init.scope');
accepted('-.mount');
accepted('a.b.service');
accepted('..service');
accepted('dev-disk-by\\x2dlabel.swap');
accepted('org.gnome:Shell_1-2.service');
accepted('player@kitchen.service');
accepted('player@a@b.service');
accepted('player@@.service');
accepted('a@b@.service');
accepted('player@.x.service');
accepted(`${'a'.repeat(247)}.service`);

refused('', /empty/);
refused('mpd', /suffix/);
refused('mpd.', /suffix/);
refused('mpd.Service', /suffix/);
refused('mpd.conf', /suffix/);
refused('mpd.service ', /suffix/);
refused('.service', /before the suffix/);
refused('@.service', /before the @/);
refused('@a.service', /before the @/);
refused('player@.service', /instance/);
refused('my player.service', /letters/);
refused('a/b.service', /letters/);
refused('../x.service', /letters/);
refused('häuschen.service', /letters/);
refused('mpd*.service', /letters/);
refused('mpd\n.service', /letters/);
refused('mpd\0.service', /letters/);
refused(`${'a'.repeat(248)}.service`, /255 bytes/);
refused(`${'ä'.repeat(124)}.service`, /255 bytes/);
