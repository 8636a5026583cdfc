// Tests which names the patterns of `players.ignore` match, and that an ignored player has no
// record under any of its names.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ignoredBy } from '../../../src/actors/players/ignored.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import { busNameOf, startBackend } from './backend-under-test.js';
import { ScriptedPlayer } from './scripted-player.js';

const ROWS: readonly (readonly [pattern: string, name: string, isIgnored: boolean])[] = [
  ['spotify', 'spotify', true],
  ['org.mpris.MediaPlayer2.spotify', 'spotify', true],
  ['spotify', 'spotifyd', false],
  ['spotify', 'my.spotify', false],
  ['Spotify', 'spotify', false],
  ['firefox.instance_*', 'firefox.instance_1_26', true],
  ['firefox.instance_*', 'firefoxXinstance_1', false],
  ['*', 'anything', true],
  ['*.instance*', 'vlc.instance7', true],
  ['*.instance*', 'vlc', false],
  ['org.mpris.*', 'vlc', true],
];

for (const [pattern, name, isIgnored] of ROWS) {
  test(`the pattern ${pattern} ${isIgnored ? 'matches' : 'does not match'} the player ${name}`, () => {
    assert.equal(ignoredBy([pattern])(busNameOf(name)), isIgnored);
  });
}

const testOnBus = testsNeeding({ programs: ['dbus-daemon'] });

testOnBus('an ignored player exists under none of its names', async (t) => {
  const { bus, backend, recorder, start } = await startBackend(t, undefined, {
    settings: { ignore: ['vlc'] },
  });
  const ignored = await ScriptedPlayer.connect(t, bus);
  await ignored.requestName('vlc.instance7');
  await until('the player is published', () => recorder.names.join() === 'vlc.instance7');
  await ignored.requestName('vlc');
  await until('the player is dropped', () => recorder.names.length === 0);

  await start('other');
  assert.deepEqual(recorder.names, ['other']);
  for (const name of ['vlc', 'vlc.instance7'])
    assert.equal(faultOf(await backend.handle({ do: 'play', player: busNameOf(name) })), 'no-such-player');
});
