// Tests players that do not answer as the specification demands, and a player that only repeats other
// players. All are scripted, on a real bus.

import assert from 'node:assert/strict';
import { Variant } from 'dbus-next';
import {
  PLAYER_INTERFACE,
  PLAYERCTLD_INTERFACE,
  TRACKLIST_INTERFACE,
} from '../../../src/protocol/dbus/mpris.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import { busNameOf, startBackend } from './backend-under-test.js';
import { metadata, ScriptedPlayer } from './scripted-player.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

test('a player that answers GetAll with an error is read with Get, and its tracklist as well', async (t) => {
  const { bus, recorder } = await startBackend(t);
  const player = await ScriptedPlayer.connect(t, bus);
  player.misbehaviours.set('GetAll', { error: 'org.freedesktop.DBus.Error.Failed' });
  player.properties[TRACKLIST_INTERFACE] = { Tracks: new Variant('ao', []) };
  await player.requestName('by-get');
  const published = await recorder.until('the player is published', 'by-get', () => true);
  // Every `ScriptedPlayer` has these properties.
  assert.deepEqual([published.identity, published.volume, published.position], ['Scripted', 0.5, 1_000_000]);
  await recorder.until('its tracklist is known', 'by-get', (record) => record.tracklist_supported);
  assert.deepEqual(recorder.logs, []);
});

test('the log says only once why a player is not listed', async (t) => {
  const { bus, recorder } = await startBackend(t);
  const player = await ScriptedPlayer.connect(t, bus);
  for (const member of ['GetAll', 'Get'])
    player.misbehaviours.set(member, { error: 'org.freedesktop.DBus.Error.Failed' });
  await player.requestName('unreadable');
  const readingCount = (): number =>
    player.calls.filter((call) => call === `GetAll ${PLAYER_INTERFACE}`).length;
  await until('the player was read four times', () => readingCount() >= 4);
  assert.equal(recorder.logs.length, 1, recorder.logs.join());
  assert.match(recorder.logs[0] ?? '', /not listed/);
  assert.equal(recorder.record('unreadable'), undefined);
});

test('a player may write the words of the specification in lower case', async (t) => {
  const { recorder, start } = await startBackend(t);
  await start('lower', {
    PlaybackStatus: new Variant('s', 'playing'),
    LoopStatus: new Variant('s', 'track'),
  });
  const published = recorder.record('lower');
  assert.deepEqual([published?.playback_status, published?.loop_status], ['Playing', 'Track']);
});

test('playerctld, which repeats other players, is not listed as a player', async (t) => {
  const { bus, backend, recorder, start } = await startBackend(t);
  const repeater = await ScriptedPlayer.connect(t, bus);
  repeater.properties[PLAYERCTLD_INTERFACE] = { PlayerNames: new Variant('as', []) };
  await repeater.requestName('repeater');
  await until('the backend has asked whether the player is playerctld', () =>
    repeater.calls.includes(`GetAll ${PLAYERCTLD_INTERFACE}`),
  );
  const other = await start('other');

  repeater.change({ PlaybackStatus: new Variant('s', 'Playing') });
  other.change({ Volume: new Variant('d', 0.7) });
  await recorder.until('a later change is published', 'other', ({ volume }) => volume === 0.7);
  assert.deepEqual(recorder.names, ['other']);
  const answer = await backend.handle({ do: 'play', player: busNameOf('repeater') });
  assert.equal(faultOf(answer), 'no-such-player');
  assert.ok(!recorder.published.join().includes('repeater'), recorder.published.join());
});

test('the metadata keys `__proto__` and `toString` are keys like any other', async (t) => {
  const { recorder, start } = await startBackend(t);
  // Without the brackets, `__proto__` would set the prototype of the object.
  const values = { 'xesam:title': 'One', ['__proto__']: 'Two', toString: 'Three' };
  await start('odd', { Metadata: metadata(values) });
  const { metadata: texts = {} } = recorder.record('odd') ?? {};
  assert.deepEqual(Object.entries(texts).sort(), Object.entries(values).sort());
});
