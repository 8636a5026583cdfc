// Tests how `tonearm ctl` prints answers for people. test/contract/ctl.test.ts tests this with a real node.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainLines } from '../../../src/cli/ctl/plain-text.js';
import type { NetworkRecord, TracklistRecord } from '../../../src/protocol/actor/schemas.js';

/**
 * Values of the member `extra` in the answer to `upgrade`, and the lines that are printed for each value.
 * Another program writes `extra`, so `extra` may have any content.
 */
const EXTRAS: readonly (readonly [extra: object, lines: readonly string[]])[] = [
  [{ packages: [{ name: 'mpd', size: 3 }] }, ['extra.packages:', '  name  size', '  mpd   3']],
  [{ constructor: [{ name: 'mpd' }] }, ['extra.constructor:', '  name', '  mpd']],
  [
    { packages: [{ name: 'mpd', needs: ['a', 'b'], of: { size: 3 } }] },
    ['extra.packages:', '  name  needs  of', '  mpd   a, b   {"size":3}'],
  ],
  // This list is printed as a table. Only the list `commands` in the answer to `network` has lines that
  // people type.
  [{ commands: [{ name: 'mpd' }] }, ['extra.commands:', '  name', '  mpd']],
  [{ packages: [null, { name: 'mpd' }] }, ['extra.packages: -, {"name":"mpd"}']],
  [{ packages: [] }, ['extra.packages: -']],
  // A terminal would obey this control sequence, and clear its screen.
  [{ packages: [{ '\u001b[2J': 1 }] }, ['extra.packages:', '  \\u{1b}[2J', '  1']],
];

for (const [extra, lines] of EXTRAS)
  test(`the extra ${JSON.stringify(extra)} of an upgrade is printed as ${JSON.stringify(lines)}`, () =>
    assert.deepEqual(plainLines('upgrade', { extra }), lines));

test('the answer to network is printed with a heading above each group of lines that people type', () => {
  const lines = ['curl -o c http://node/audio/cookie && chmod 600 c', 'PULSE_SERVER=tcp:node:4713 PROGRAM'];
  const commands: NetworkRecord['commands'] = [
    { for: 'pulseaudio', use: 'program', lines },
    { for: 'pipewire', use: 'output', lines: ['pactl load-module module-tunnel-sink'] },
  ];
  const network: NetworkRecord = { enabled: true, addresses: ['fd00::1', '10.0.0.2'], commands };
  assert.deepEqual(plainLines('network', network), [
    'enabled: yes',
    'addresses: fd00::1, 10.0.0.2',
    'commands:',
    '  pulseaudio, program:',
    ...lines.map((line) => `    ${line}`),
    '  pipewire, output:',
    '    pactl load-module module-tunnel-sink',
  ]);
});

test('the answer to tracklist is printed with the artist and the title of each track, and with the address in place of a missing title', () => {
  const song = { 'xesam:title': 'Song', 'xesam:artist': 'Band', 'xesam:album': 'Album' };
  const tracklist: TracklistRecord = {
    can_edit_tracks: false,
    tracks: [
      { track_id: '/track/1', metadata: song },
      { track_id: '/track/22', metadata: { 'xesam:url': 'file:///a.ogg' } },
      { track_id: '/track/3', metadata: {} },
    ],
  };
  assert.deepEqual(plainLines('tracklist', tracklist), [
    'can_edit_tracks: no',
    'tracks:',
    '  track_id   title          artist',
    '  /track/1   Song           Band',
    '  /track/22  file:///a.ogg  -',
    '  /track/3   -              -',
  ]);
});
