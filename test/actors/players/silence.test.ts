// Silencing players, with scripted ones on a real bus: all of them by one command, and the others when one
// begins to play.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Variant } from 'dbus-next';
import { PLAYER_INTERFACE } from '../../../src/protocol/dbus/mpris.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import type { PrivateBus } from '../bus/private-bus.js';
import { faultOf } from '../recorder.js';
import { startBackend } from './backend-under-test.js';
import { type Properties, ScriptedPlayer } from './scripted-player.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

const status = (word: string): Properties => ({ PlaybackStatus: new Variant('s', word) });
const PLAYING = status('Playing');
const CANNOT_PAUSE = { CanPause: new Variant('b', false) };

/** The calls that change what it plays. */
const changes = ({ calls }: ScriptedPlayer): string =>
  calls.filter((call) => /^(?:Play|Pause|PlayPause|Stop)$/.test(call)).join();

test('every player that plays is paused, or stopped where it cannot pause; the others are left alone', async (t) => {
  const { backend, start } = await startBackend(t);
  const playing = await start('playing', PLAYING);
  const radio = await start('radio', { ...PLAYING, ...CANNOT_PAUSE });
  const paused = await start('paused');
  const silent = await start('silent');
  // It plays now, and does not announce that.
  Object.assign(silent.properties[PLAYER_INTERFACE] ?? {}, PLAYING);
  assert.equal(faultOf(await backend.handle({ do: 'pause_all' })), 'none');
  assert.deepEqual([playing, radio, paused, silent].map(changes), ['Pause', 'Stop', '', 'Pause']);
});

test('the command succeeds where no player plays', async (t) => {
  const { backend, start } = await startBackend(t);
  assert.equal(faultOf(await backend.handle({ do: 'pause_all' })), 'none');
  await start('paused');
  assert.equal(faultOf(await backend.handle({ do: 'pause_all' })), 'none');
});

test('players that hang or refuse are named, and delay no other', async (t) => {
  const { backend, start } = await startBackend(t, undefined, { callDeadlineMs: 1_000 });
  const hung = await start('hung', PLAYING);
  const refusing = await start('refusing', PLAYING);
  const good = await start('good', PLAYING);
  hung.misbehaves.set('Pause', 'hang');
  refusing.misbehaves.set('Pause', { error: 'org.example.Error.No' });
  const answer = backend.handle({ do: 'pause_all' });
  await until('the good one is paused', () => changes(good) === 'Pause');
  const silenced = await answer;
  assert.match(
    silenced.ok ? '' : silenced.error.detail,
    /MediaPlayer2\.hung .*; .*MediaPlayer2\.refusing .*not today/,
  );
});

/** An exclusive backend with players that were there before it. */
async function exclusive(t: TestContext, ...before: readonly string[]) {
  const players: ScriptedPlayer[] = [];
  const { start, recorder } = await startBackend(
    t,
    async (bus: PrivateBus) => {
      for (const name of before) players.push(await ScriptedPlayer.start(t, bus, name, PLAYING));
    },
    { settings: { exclusive: true } },
  );
  return { players, start, recorder };
}

test('players that play at the start go on, until another one begins', async (t) => {
  const { players, start, recorder } = await exclusive(t, 'one', 'two');
  const [one, two] = players as [ScriptedPlayer, ScriptedPlayer];
  const quiet = await start('quiet');
  assert.deepEqual([one, two].map(changes), ['', '']);
  const three = await start('three', PLAYING);
  await until('both are paused', () => changes(one) === 'Pause' && changes(two) === 'Pause');
  assert.deepEqual([quiet, three].map(changes), ['', '']);
  one.change(status('Paused'));
  await recorder.until('it is paused', 'one', (record) => record.playback_status === 'Paused');
  one.change(PLAYING);
  await until('the one that began before is paused', () => changes(three) === 'Pause');
  assert.deepEqual([one, quiet].map(changes), ['Pause', '']);
});

test('the last of several players that begin at once goes on', async (t) => {
  const { start } = await exclusive(t);
  const players = [await start('one'), await start('two'), await start('three')];
  for (const player of players) player.change(PLAYING);
  const paused = (): number => players.filter((player) => changes(player) !== '').length;
  await until('two are paused', () => paused() === 2);
  const probe = await start('probe');
  assert.equal(paused(), 2, players.map(changes).join());
  assert.equal(changes(probe), '');
});

test('a second name of a player does not pause it', async (t) => {
  const { start, recorder } = await exclusive(t);
  const player = await start('vlc.instance7', PLAYING);
  await player.own('vlc');
  await until('it has its short name', () => recorder.names.join() === 'vlc');
  const other = await start('other', PLAYING);
  await until('it is paused', () => changes(player) === 'Pause');
  assert.equal(changes(other), '');
});

test('a player that cannot be silenced is named in the log', async (t) => {
  const { players, start, recorder } = await exclusive(t, 'one');
  players[0]?.misbehaves.set('Pause', { error: 'org.example.Error.No' });
  await start('two', PLAYING);
  await until('it is in the log', () => recorder.logs.includes('warn: a player plays on beside another one'));
});
