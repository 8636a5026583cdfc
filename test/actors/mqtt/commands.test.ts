// Topics and payloads of commands, and what each asks for: a row per line of contract section 8, and what makes no sense.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asksOf, COMMAND_FILTERS, isCommand } from '../../../src/actors/mqtt/commands.js';

type Row = readonly [
  topic: string,
  payload: string,
  ...asks: readonly (readonly [path: string, body?: string])[],
];

/** Lists in a member, so many levels deep. */
function deep(levels: number): string {
  return `{"volume":${'['.repeat(levels)}${']'.repeat(levels)}}`;
}

const ROWS: readonly Row[] = [
  ['audio/server/set', '{"volume": 0.5}', ['/audio/server/volume', '{"volume":0.5}']],
  ['audio/server/set', '{"delta": -0.1}', ['/audio/server/volume', '{"delta":-0.1}']],
  ['audio/server/set', '{"muted": true}', ['/audio/server/mute', '{"muted":true}']],
  ['audio/server/set', '{"output": "a/b c"}', ['/audio/outputs/a%2Fb%20c/default']],
  [
    'audio/outputs/a%2Fb/set',
    '{"default": true, "muted": false, "volume": 1}',
    ['/audio/outputs/a%2Fb/volume', '{"volume":1}'],
    ['/audio/outputs/a%2Fb/mute', '{"muted":false}'],
    ['/audio/outputs/a%2Fb/default'],
  ],
  ['audio/outputs/x/set', '{"balance": -1}', ['/audio/outputs/x/balance', '{"balance":-1}']],
  ['audio/outputs/x/set', '{"port": "line"}', ['/audio/outputs/x/port', '{"port":"line"}']],
  ['audio/outputs/x/set', '{"default": false}', ['/audio/outputs/x/default', '{"default":false}']],
  ['audio/outputs/set/set', '{"muted": true}', ['/audio/outputs/set/mute', '{"muted":true}']],
  ['audio/clients/🎵 1/set', '{"output": "k"}', ['/audio/clients/%F0%9F%8E%B5%201/output', '{"output":"k"}']],
  ['services/user/mpd.service/set', 'restart', ['/services/user/mpd.service/restart']],
  ['services/user/mpd.service/set', '"stop"', ['/services/user/mpd.service/stop']],
  ['services/system/ssh.service/set', 'enable', ['/services/system/ssh.service/enable']],
  ['players/mpv/set', 'play_pause', ['/players/mpv/play_pause']],
  ['players/mpv/set', '{"offset": -5000000}', ['/players/mpv/seek', '{"offset":-5000000}']],
  [
    'players/mpv/set',
    '{"shuffle": true, "loop": "Track", "position": 1, "volume": 0.1}',
    ['/players/mpv/position', '{"position":1}'],
    ['/players/mpv/volume', '{"volume":0.1}'],
    ['/players/mpv/loop', '{"loop":"Track"}'],
    ['/players/mpv/shuffle', '{"shuffle":true}'],
  ],
  ['power/set', 'poweroff', ['/power/power_off']],
  ['power/set', 'reboot', ['/power/reboot']],
  ['upgrade/set', 'check', ['/upgrade/check']],
  ['upgrade/set', 'start', ['/upgrade/start']],
  // What makes no sense is the route's to refuse, as a whole.
  ['audio/server/set', 'loud', ['/audio/server/volume', 'loud']],
  ['audio/server/set', '{"volume": 1, "delta": 1}', ['/audio/server/volume', '{"volume": 1, "delta": 1}']],
  ['audio/server/set', '{"muted": true, "x": 1}', ['/audio/server/mute', '{"muted": true, "x": 1}']],
  ['audio/server/set', '[]', ['/audio/server/volume', '[]']],
  ['audio/outputs/a%zz/set', '{"volume": 1}', ['/audio/outputs/a%zz/volume', '{"volume":1}']],
  [
    'services/user/x.service/set',
    '../../power/reboot',
    ['/services/user/x.service/..%2F..%2Fpower%2Freboot'],
  ],
  ['services/user/x.service/set', 'constructor', ['/services/user/x.service/constructor']],
  ['players/mpv/set', '{}', ['/players/mpv/volume', '{}']],
  ['audio/server/set', '{"__proto__": 1}', ['/audio/server/volume', '{"__proto__": 1}']],
  ['players/mpv/set', '{"volume": 1', ['/players/mpv/volume', '{"volume": 1']],
  ['audio/server/set', deep(31), ['/audio/server/volume', deep(31)]],
  ['audio/server/set', deep(32), ['/audio/server/volume', deep(32)]],
  ['audio/server/set', '{"output": "[[[\\"{{{"}', ['/audio/outputs/%5B%5B%5B%22%7B%7B%7B/default']],
  // No command's topic.
  ['audio/server', '{"volume": 1}'],
  ['audio/outputs/set', '{"volume": 1}'],
  ['audio/server/mute/set', '{"muted": true}'],
];

for (const [topic, payload, ...asks] of ROWS) {
  test(`${topic} ${payload}`, () => {
    const found = asksOf(topic, payload).map(({ path, body }) =>
      body === undefined ? [path] : [path, body],
    );
    assert.deepEqual(found, asks);
    assert.equal(isCommand(topic), asks.length > 0);
  });
}

test('the filters fit commands only', () => {
  assert.deepEqual(COMMAND_FILTERS, [
    ...[
      'audio/server/set',
      'audio/outputs/+/set',
      'audio/clients/+/set',
      'services/+/+/set',
      'players/+/set',
    ],
    ...['power/set', 'upgrade/set'],
  ]);
});

test('the default output is one thing by whatever topic; deltas and toggles count each', () => {
  const superseding = (topic: string, payload: string) =>
    asksOf(topic, payload).map(({ supersedes }) => supersedes);
  assert.deepEqual(
    superseding('audio/server/set', '{"output":"a"}'),
    superseding('audio/outputs/b/set', '{"default":true}'),
  );
  assert.deepEqual(superseding('audio/server/set', '{"delta":0.1}'), [undefined]);
  assert.deepEqual(superseding('players/mpv/set', 'next'), [undefined]);
  assert.deepEqual(superseding('players/mpv/set', 'play'), superseding('players/mpv/set', 'pause'));
});
