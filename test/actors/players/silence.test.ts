// Tests how scripted players on a real bus are silenced: all players by one command, and all other players
// when one player begins to play (setting `exclusive`).

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Variant } from 'dbus-next';
import { type Clock, systemClock } from '../../../src/host/clock.js';
import { PLAYER_INTERFACE, PLAYERCTLD_INTERFACE } from '../../../src/protocol/dbus/mpris.js';
import { ManualClock } from '../../manual-clock.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import type { PrivateBus } from '../bus/private-bus.js';
import { faultOf } from '../recorder.js';
import { startBackend, startHungPlayer } from './backend-under-test.js';
import { type Properties, ScriptedPlayer } from './scripted-player.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

const withStatus = (word: string): Properties => ({ PlaybackStatus: new Variant('s', word) });
const PLAYING = withStatus('Playing');
const CANNOT_PAUSE = { CanPause: new Variant('b', false) };

/** The calls that change whether this player plays. */
const playbackCalls = ({ calls }: ScriptedPlayer): string =>
  calls.filter((call) => /^(?:Play|Pause|PlayPause|Stop)$/.test(call)).join();

test('the command to pause all players affects only those that play: it pauses them, or stops those that cannot pause', async (t) => {
  const { backend, start } = await startBackend(t);
  const playing = await start('playing', PLAYING);
  const radio = await start('radio', { ...PLAYING, ...CANNOT_PAUSE });
  const paused = await start('paused');
  const unannounced = await start('unannounced');
  // This player now plays, but no signal announces that.
  Object.assign(unannounced.properties[PLAYER_INTERFACE] ?? {}, PLAYING);

  assert.equal(faultOf(await backend.handle({ do: 'pause_all' })), 'none');
  assert.deepEqual([playing, radio, paused, unannounced].map(playbackCalls), ['Pause', 'Stop', '', 'Pause']);
});

test('the command to pause all players succeeds if no player plays', async (t) => {
  const { backend, start } = await startBackend(t);
  assert.equal(faultOf(await backend.handle({ do: 'pause_all' })), 'none');
  await start('paused');
  assert.equal(faultOf(await backend.handle({ do: 'pause_all' })), 'none');
});

test('the command to pause all players fails if the bus is lost before the players have answered', async (t) => {
  const { backend, bus, start } = await startBackend(t);
  const player = await start('playing', PLAYING);
  player.misbehaviours.set('GetAll', 'hang');
  const callsBefore = player.calls.length;
  const answering = backend.handle({ do: 'pause_all' });
  await until('the player is being read', () => player.calls.length > callsBefore);
  await bus.kill('SIGKILL');
  assert.equal(faultOf(await answering), 'unavailable');
});

test('players that hang or refuse to pause do not delay the pause of the others, and the answer names such players', async (t) => {
  const { backend, start } = await startBackend(t, undefined, { callDeadlineMs: 1_000 });
  const hung = await start('hung', PLAYING);
  const refusing = await start('refusing', PLAYING);
  const good = await start('good', PLAYING);
  hung.misbehaviours.set('Pause', 'hang');
  refusing.misbehaviours.set('Pause', { error: 'org.example.Error.No' });

  const answering = backend.handle({ do: 'pause_all' });
  await until('the good player is paused', () => playbackCalls(good) === 'Pause');
  const answer = await answering;
  // Each error of the scripted player has the text `not today` (scripted-player.ts).
  assert.match(
    answer.ok ? '' : answer.error.detail,
    /MediaPlayer2\.hung .*; .*MediaPlayer2\.refusing .*not today/,
  );
});

/** Starts players that play, and then a backend with the setting `exclusive`. */
async function startExclusive(t: TestContext, ...names: readonly string[]) {
  const players: ScriptedPlayer[] = [];
  const { start, recorder } = await startBackend(
    t,
    async (bus: PrivateBus) => {
      for (const name of names) players.push(await ScriptedPlayer.start(t, bus, name, PLAYING));
    },
    { settings: { exclusive: true } },
  );
  return { players, start, recorder };
}

test('if players play already when the backend starts, they play on until another player begins to play', async (t) => {
  const { players, start, recorder } = await startExclusive(t, 'one', 'two');
  const [one, two] = players as [ScriptedPlayer, ScriptedPlayer];
  const quiet = await start('quiet');
  assert.deepEqual([one, two].map(playbackCalls), ['', '']);

  const three = await start('three', PLAYING);
  await until(
    'one and two are paused',
    () => playbackCalls(one) === 'Pause' && playbackCalls(two) === 'Pause',
  );
  assert.deepEqual([quiet, three].map(playbackCalls), ['', '']);

  one.change(withStatus('Paused'));
  await recorder.until('one is published as paused', 'one', (record) => record.playback_status === 'Paused');
  one.change(PLAYING);
  await until('three is paused', () => playbackCalls(three) === 'Pause');
  assert.deepEqual([one, quiet].map(playbackCalls), ['Pause', '']);
});

test('if three players begin to play at once, all are silenced except the last that is published as playing', async (t) => {
  const { start, recorder } = await startExclusive(t);
  const players = new Map<string, ScriptedPlayer>();
  for (const name of ['one', 'two', 'three']) players.set(name, await start(name));
  for (const player of players.values()) player.change(PLAYING);
  // The recorder has the players in the order in which they were published as playing.
  const begun = (): readonly string[] => [...recorder.begun];
  const silenced = (): readonly string[] =>
    begun().filter((name) => playbackCalls(players.get(name) as ScriptedPlayer) !== '');
  await until('two players are paused', () => silenced().length === 2);
  // This player does not play. If there were a third pause, it would arrive while this player starts.
  const probe = await start('probe');
  assert.equal(begun().length, 3);
  assert.deepEqual(silenced(), begun().slice(0, 2));
  assert.equal(playbackCalls(probe), '');
});

test('if a player signals a pause while it is read, an older answer with `Playing` silences no other player', async (t) => {
  const { start, recorder } = await startExclusive(t);
  const one = await start('one', PLAYING);
  const two = await start('two');
  two.misbehaviours.set('GetAll', 'hang');
  const callsBefore = two.calls.length;
  // An invalidated property makes the backend read the player.
  two.announce({}, ['Shuffle']);
  await until('two is being read', () => two.calls.includes(`GetAll ${PLAYER_INTERFACE}`, callsBefore));
  two.misbehaviours.clear();
  // The signal makes the backend read the player again after the reading under way. The volume shows which
  // state is published: 0.6 is in the old answer, 0.7 in the signal and in the next reading.
  two.change({ ...withStatus('Paused'), Volume: new Variant('d', 0.7) });
  await recorder.until('the signal is published', 'two', ({ volume }) => volume === 0.7);
  two.answerHung({ ...two.properties[PLAYER_INTERFACE], ...PLAYING, Volume: new Variant('d', 0.6) });
  await recorder.until('the old reading is published', 'two', ({ volume }) => volume === 0.6);
  await recorder.until('the next reading is published', 'two', ({ volume }) => volume === 0.7);
  // A pause of `one` would arrive while this player starts.
  await start('probe');
  assert.equal(playbackCalls(one), '');

  two.change(PLAYING);
  await until('one is paused', () => playbackCalls(one) === 'Pause');
});

test('a player that signals that it plays, and then hangs, silences the others', async (t) => {
  // While a player plays, a timer of 30 s checks whether its record must be published. This check could
  // silence the others, too, so the clock of this timer stands still.
  const stoppedClock = new ManualClock();
  const after: Clock['after'] = (ms, callback) =>
    (ms < 30_000 ? systemClock : stoppedClock).after(ms, callback);
  const { start, recorder } = await startBackend(t, undefined, {
    clock: { ...systemClock, after },
    settings: { exclusive: true },
  });
  const one = await start('one', PLAYING);
  const two = await start('two');
  two.misbehaviours.set('GetAll', 'hang');
  const callsBefore = two.calls.length;
  two.announce(PLAYING);
  await recorder.until('two plays', 'two', ({ playback_status: status }) => status === 'Playing');
  await until('two is being read', () => two.calls.includes(`GetAll ${PLAYER_INTERFACE}`, callsBefore));
  assert.equal(playbackCalls(one), '');
  // The reading fails now. Otherwise the test would have to wait for the deadline of the reading.
  two.refuseHung('org.freedesktop.DBus.Error.NoReply');
  await until('one is paused', () => playbackCalls(one) === 'Pause');
});

test('a player that gets a second name while it plays is not paused', async (t) => {
  const { start, recorder } = await startExclusive(t);
  const player = await start('vlc.instance7', PLAYING);
  await player.requestName('vlc');
  await until('the player has its short name', () => recorder.names.join() === 'vlc');
  const other = await start('other', PLAYING);
  // `other` causes this pause. A pause because of the second name would arrive while `probe` starts.
  await until('the player is paused', () => playbackCalls(player) !== '');
  await start('probe');
  assert.equal(playbackCalls(player), 'Pause');
  assert.equal(playbackCalls(other), '');
});

test('if a player cannot be silenced, the log says that a player plays on beside another one', async (t) => {
  const { players, start, recorder } = await startExclusive(t, 'one');
  players[0]?.misbehaviours.set('Pause', { error: 'org.example.Error.No' });
  await start('two', PLAYING);
  await until('the log names the player', () =>
    recorder.logs.includes('warn: a player plays on beside another one'),
  );
});

test('a player that begins to play silences the others even while the start of the backend waits for a player that hangs', async (t) => {
  // At its start the backend waits up to a second for its players. The clock of this wait stands still, so
  // the start does not end.
  const stoppedClock = new ManualClock();
  const after: Clock['after'] = (ms, callback) =>
    (ms < 1_000 ? systemClock : stoppedClock).after(ms, callback);
  const players: ScriptedPlayer[] = [];
  const { start } = await startBackend(
    t,
    async (bus) => {
      await startHungPlayer(t, bus);
      players.push(await ScriptedPlayer.start(t, bus, 'one', PLAYING));
    },
    {
      clock: { ...systemClock, after },
      settings: { exclusive: true },
      untilUp: (recorder) => recorder.until('one is published', 'one', () => true),
    },
  );
  await start('two', PLAYING);
  await until('one is paused', () => players.map(playbackCalls).join() === 'Pause');
});

test('playerctld is not silenced, even if it is recognized only after it was published', async (t) => {
  const { bus, recorder, start } = await startBackend(t, undefined, { settings: { exclusive: true } });
  const repeater = await ScriptedPlayer.connect(t, bus);
  // playerctld repeats other players. Only the answer about this interface shows that this player is
  // playerctld (properties.ts).
  repeater.hungInterface = PLAYERCTLD_INTERFACE;
  Object.assign(repeater.properties[PLAYER_INTERFACE] ?? {}, PLAYING);
  await repeater.requestName('repeater');
  await recorder.until('playerctld is published', 'repeater', () => true);
  repeater.answerHung({ PlayerNames: new Variant('as', []) });
  await until('playerctld is removed', () => recorder.record('repeater') === undefined);

  await start('one', PLAYING);
  await start('two', PLAYING);
  assert.equal(
    playbackCalls(repeater),
    '',
    'playerctld would pass the command on to the player that has just begun to play',
  );
});
