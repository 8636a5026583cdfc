// Tests at which moments the backend reads a player and publishes it, and how the backend reckons positions
// between two readings (docs/players.md, "Positions"). Scripted players are on a real bus.

import assert from 'node:assert/strict';
import { Variant } from 'dbus-next';
import { type Clock, systemClock } from '../../../src/host/clock.js';
import type { PlayerRecord } from '../../../src/protocol/actor/schemas.js';
import { PLAYER_INTERFACE } from '../../../src/protocol/dbus/mpris.js';
import { ManualClock } from '../../manual-clock.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import { busNameOf, type PlayersRecorder, startBackend, startHungPlayer } from './backend-under-test.js';
import { metadata, ScriptedPlayer } from './scripted-player.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

/** The position of a scripted player, unless a test sets another one (scripted-player.ts). */
const START_US = 1_000_000;

test('positions are published only when clients cannot reckon them', async (t) => {
  const { backend, recorder, start } = await startBackend(t);
  const player = await start();
  // No signal announces this volume. The command causes a second reading, which brings the volume. Both
  // readings have the same position, so no position may be published.
  Object.assign(player.properties[PLAYER_INTERFACE] ?? {}, { Volume: new Variant('d', 0.8) });
  assert.equal(faultOf(await backend.handle({ do: 'next', player: busNameOf('scripted') })), 'none');
  await recorder.until('the second reading is published', 'scripted', ({ volume }) => volume === 0.8);
  assert.deepEqual(recorder.positions, []);

  player.announceSeek(30_000_000);
  await until('the jump is published', () => recorder.positions.at(-1)?.position === 30_000_000);

  player.change({ PlaybackStatus: new Variant('s', 'Playing'), Position: new Variant('x', 31_000_000n) });
  await recorder.until('the player plays', 'scripted', ({ playback_status: status }) => status === 'Playing');
  await until('the position where playing begins is published', () => recorder.positions.length === 2);

  player.change({ Volume: new Variant('d', 0.3) });
  const record = await recorder.until('the volume is published', 'scripted', ({ volume }) => volume === 0.3);
  assert.equal(record.position, 31_000_000, 'the record has the position where playing began');
  assert.match(record.position_updated_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/);
  assert.equal(recorder.positions.length, 2);

  player.change({ PlaybackStatus: new Variant('s', 'Paused'), Position: new Variant('x', 50_000_000n) });
  await until('the position of the pause is published', () => recorder.positions.length === 3);
  assert.equal(recorder.record('scripted')?.position, 50_000_000);
});

test('the position is read again 3 s after playing began, because the first position may be ahead of the sound', async (t) => {
  const manual = new ManualClock();
  // Only the timer of the second reading is on the manual clock (`SETTLED_MS` in position.ts).
  const after: Clock['after'] = (ms, callback) => {
    const isOfSecondReading = ms > 2_000 && ms <= 3_000;
    return (isOfSecondReading ? manual : systemClock).after(ms, callback);
  };
  const monotonic = () => systemClock.monotonic() + manual.monotonic();
  const { recorder, start } = await startBackend(t, undefined, {
    clock: { ...systemClock, monotonic, after },
  });
  // Each reading has this position, so the second reading is a jump back.
  const readUs = 9_000_000;
  const player = await start('scripted', { Position: new Variant('x', BigInt(readUs)) });
  assert.equal(manual.timers, 0, 'a paused player is not read again');

  player.change({ PlaybackStatus: new Variant('s', 'Playing') });
  await until('the first position is published', () => recorder.positions.length === 1);
  await until('the timer of the second reading is set', () => manual.timers === 1);

  manual.advance(3_000);
  await until('the second position is published', () => recorder.positions.length === 2);
  assert.equal(recorder.record('scripted')?.position, readUs);
  assert.equal(manual.timers, 0, 'there is no third reading');
});

test('if a player plays but repeats the position that it has announced, no jump back is published', async (t) => {
  const manual = new ManualClock();
  // The second reading (`SETTLED_MS` in position.ts) is on the manual clock. Waits of up to 500 ms are real.
  const after: Clock['after'] = (ms, callback) => (ms <= 500 ? systemClock : manual).after(ms, callback);
  const monotonic = () => systemClock.monotonic() + manual.monotonic();
  const { backend, recorder, start } = await startBackend(t, undefined, {
    clock: { ...systemClock, monotonic, after },
  });
  const player = await start('scripted', { Position: new Variant('x', 12_000_000n) });
  player.announceSeek(12_000_000);
  player.change({ PlaybackStatus: new Variant('s', 'Playing') });
  await recorder.until('the player plays', 'scripted', ({ playback_status: status }) => status === 'Playing');
  // One other timer is set while a player plays: it checks the date (`CLOCK_CHECK_MS` in player.ts).
  await until('the timer of the second reading is set', () => manual.timers > 1);
  /**
   * Calls `cause`, and waits until a reading is published. No signal announces the volume, so only a reading
   * brings the volume.
   */
  const nextReading = async (volume: number, cause: () => unknown): Promise<void> => {
    Object.assign(player.properties[PLAYER_INTERFACE] ?? {}, { Volume: new Variant('d', volume) });
    await cause();
    await recorder.until('the reading is published', 'scripted', (record) => record.volume === volume);
  };
  // When this reading is published, the position where playing began has been published, too.
  await nextReading(0.1, () => backend.handle({ do: 'volume', player: busNameOf('scripted'), volume: 0.1 }));
  const positionsBefore = recorder.positions.length;

  await nextReading(0.2, () => manual.advance(3_000));
  await nextReading(0.3, () => backend.handle({ do: 'loop', player: busNameOf('scripted'), loop: 'Track' }));
  assert.equal(recorder.positions.length, positionsBefore);

  player.change({ PlaybackStatus: new Variant('s', 'Paused') });
  await until('the position of the pause is published', () => recorder.positions.length > positionsBefore);
});

test('the start of the backend waits a second for a player that hangs, and no longer', async (t) => {
  const clock = new ManualClock();
  const untilUp = async (recorder: PlayersRecorder): Promise<void> => {
    await until('the start waits for the player', () => clock.timers === 1);
    clock.advance(999);
    assert.equal(clock.timers, 1, 'the start still waits');
    assert.deepEqual(recorder.published, []);
    clock.advance(1);
    assert.equal(clock.timers, 0);
    await until('the backend is up', () => recorder.published.includes('up'));
  };
  await startBackend(t, (bus) => startHungPlayer(t, bus), { clock, untilUp });
});

test('while a player plays, a jump of the date is noticed within 30 s, and only the record is published again', async (t) => {
  const manual = new ManualClock();
  let dateShiftMs = 0;
  // Only the timer that checks the date every 30 s is on the manual clock. Shorter waits are real.
  const after: Clock['after'] = (ms, callback) => (ms < 30_000 ? systemClock : manual).after(ms, callback);
  const clock: Clock = { ...manual, date: () => manual.date() + dateShiftMs, after };
  const { recorder, start } = await startBackend(t, undefined, { clock });
  const player = await start('scripted', { PlaybackStatus: new Variant('s', 'Playing') });
  const updatedAt = (): string | undefined => recorder.record('scripted')?.position_updated_at;
  const firstUpdate = updatedAt();
  manual.advance(30_000);
  assert.equal(updatedAt(), firstUpdate, 'clients can still reckon the position from the record');

  dateShiftMs = 1e11;
  manual.advance(29_999);
  assert.equal(updatedAt(), firstUpdate);
  manual.advance(1);
  assert.equal(updatedAt(), new Date(clock.date()).toISOString());
  assert.equal(recorder.record('scripted')?.position, START_US + 60_000_000);
  // The position itself has not jumped, so no `put players.position` is published.
  assert.deepEqual(recorder.published, ['up', 'put players scripted', 'put players scripted']);

  player.change({ PlaybackStatus: new Variant('s', 'Paused') });
  await recorder.until(
    'the player is paused',
    'scripted',
    ({ playback_status: status }) => status === 'Paused',
  );
  manual.advance(30_000);
  assert.equal(manual.timers, 0, 'no timer runs while nothing plays');
});

test('the signals of a new track cause only one event', async (t) => {
  const manual = new ManualClock();
  // Two timers of player.ts are on the manual clock: one gathers changes (50 ms), and the other is the pause
  // before the next reading (100 ms).
  const after: Clock['after'] = (ms, callback) => (ms <= 100 ? manual : systemClock).after(ms, callback);
  const clock = { ...systemClock, monotonic: manual.monotonic, after };
  const { bus, backend, recorder } = await startBackend(t, undefined, { clock });
  const player = await ScriptedPlayer.start(t, bus);
  await until('the player is published', () => {
    manual.advance(50);
    return recorder.record('scripted') !== undefined;
  });

  // The test waits until no reading is under way, because a change during a reading causes another reading.
  // The first command causes a reading. The player answers in order, so this reading has ended when the
  // second command has its answer.
  const next = () => backend.handle({ do: 'next', player: busNameOf('scripted') });
  assert.equal(faultOf(await next()), 'none');
  manual.advance(100);
  assert.equal(faultOf(await next()), 'none');
  manual.advance(50);

  const publishedBefore = recorder.published.length;
  player.change({ Metadata: metadata({ 'xesam:title': 'Two' }) });
  player.change({ CanGoNext: new Variant('b', false), Volume: new Variant('d', 0.4) });
  player.change({ PlaybackStatus: new Variant('s', 'Playing') });
  // The answer to this command comes after the signals of these changes.
  assert.equal(faultOf(await backend.handle({ do: 'play', player: busNameOf('scripted') })), 'none');
  assert.equal(recorder.published.length, publishedBefore);

  manual.advance(50);
  const puts = recorder.published.slice(publishedBefore).filter((line) => line.startsWith('put'));
  assert.deepEqual(puts, ['put players scripted']);
  assert.equal(recorder.record('scripted')?.volume, 0.4);
});

test('a reckoned position continues without a jump at a change of the rate and at a pause', async (t) => {
  const manual = new ManualClock();
  const clock = { ...systemClock, monotonic: manual.monotonic };
  const { recorder, start } = await startBackend(t, undefined, { clock });
  const player = await start('scripted', { PlaybackStatus: new Variant('s', 'Playing') });
  // From now on no reading brings a position, so each published position is reckoned.
  player.misbehaviours.set('GetAll', 'hang');
  manual.advance(10_000);
  const atChangeUs = START_US + 10_000_000;
  player.announce({ Rate: new Variant('d', 2) });
  const faster = await recorder.until('the rate is published', 'scripted', ({ rate }) => rate === 2);
  assert.equal(faster.position, atChangeUs);

  manual.advance(5_000);
  player.announce({ PlaybackStatus: new Variant('s', 'Paused') });
  const paused = await recorder.until(
    'the pause is published',
    'scripted',
    (record) => record.playback_status === 'Paused',
  );
  assert.equal(paused.position, atChangeUs + 2 * 5_000_000);
});

test('a player that changes while it is read is read again, because either the answer or the signal may be newer', async (t) => {
  const { recorder, start } = await startBackend(t);
  const player = await start();
  const readingCount = (): number =>
    player.calls.filter((call) => call === `GetAll ${PLAYER_INTERFACE}`).length;
  player.misbehaviours.set('GetAll', 'hang');
  // An invalidated property makes the backend read the player.
  player.announce({}, ['Shuffle']);
  await until('the player is being read', () => readingCount() === 2);
  player.misbehaviours.clear();
  player.change({ Volume: new Variant('d', 0.7) });
  player.answerHung({ Volume: new Variant('d', 0.5) });
  await until('the player is read again', () => readingCount() === 3);
  // The late answer lacks `CanPlay`, so only the third reading can make `can_play` true again.
  const isLast = (record: PlayerRecord) => record.volume === 0.7 && record.capabilities.can_play;
  await recorder.until('the last state is published', 'scripted', isLast);
});

test('20 000 quick changes of a player cause few events, but its last state is published, and so are changes of other players', async (t) => {
  const { recorder, start } = await startBackend(t);
  const flooder = await start('flooder');
  const other = await start('other');
  const publishedBefore = recorder.published.length;
  for (let change = 0; change < 20_000; change += 1) {
    flooder.change({ Volume: new Variant('d', (change % 100) / 100) });
    if (change === 10_000) other.change({ Volume: new Variant('d', 0.11) });
    if (change % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  flooder.change({ Volume: new Variant('d', 0.99), Shuffle: new Variant('b', true) });
  await recorder.until('the other player is published', 'other', ({ volume }) => volume === 0.11);
  const last = await recorder.until(
    'the last state is published',
    'flooder',
    ({ shuffle }) => shuffle === true,
  );
  assert.equal(last.volume, 0.99);

  // In each second at most 200 signals are applied (player-signals.ts), and the player is read once. Changes
  // are gathered for 50 ms (player.ts), so a player is published at most 20 times in a second. The bounds
  // below are so high because the changes take several seconds on a slow machine.
  const events = recorder.published.length - publishedBefore;
  assert.ok(events < 400, `${events} events`);
  const readingCount = flooder.calls.filter((call) => call === `GetAll ${PLAYER_INTERFACE}`).length;
  // The flooder was read when it appeared, and about once a second while its signals were ignored.
  assert.ok(readingCount >= 2 && readingCount < 100, `${readingCount} readings`);

  flooder.change({ Volume: new Variant('d', 0.5) });
  await recorder.until('the flooder is followed again', 'flooder', ({ volume }) => volume === 0.5);
});
