// Tests when the players backend reads, extrapolates and publishes, with scripted players on a real bus.

import assert from 'node:assert/strict';
import { Variant } from 'dbus-next';
import { type Clock, systemClock } from '../../../src/host/clock.js';
import type { PlayerRecord } from '../../../src/protocol/actor/schemas.js';
import { PLAYER_INTERFACE } from '../../../src/protocol/dbus/mpris.js';
import { ManualClock } from '../../manual-clock.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import { busNameOf, hungPlayer, type PlayersRecorder, startBackend } from './backend-under-test.js';
import { metadata, ScriptedPlayer } from './scripted-player.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

test('positions are sent only when they cannot be extrapolated', async (t) => {
  const { backend, recorder, start } = await startBackend(t);
  const player = await start();
  // A second reading with the same position must not be published.
  Object.assign(player.properties[PLAYER_INTERFACE] ?? {}, { Volume: new Variant('d', 0.8) });
  assert.equal(faultOf(await backend.handle({ do: 'next', player: busNameOf('scripted') })), 'none');
  await recorder.until('the change is read', 'scripted', ({ volume }) => volume === 0.8);
  assert.deepEqual(recorder.positions, []);
  player.seeked(30_000_000);
  await until('the jump is sent', () => recorder.positions.at(-1)?.position === 30_000_000);
  player.change({ PlaybackStatus: new Variant('s', 'Playing'), Position: new Variant('x', 31_000_000n) });
  await recorder.until('the player plays', 'scripted', ({ playback_status: status }) => status === 'Playing');
  await until('the position at the start is sent', () => recorder.positions.length === 2);
  player.change({ Volume: new Variant('d', 0.3) });
  const now = await recorder.until('the volume is published', 'scripted', ({ volume }) => volume === 0.3);
  assert.equal(now.position, 31_000_000, 'the position of that time still');
  assert.match(now.position_updated_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/);
  assert.equal(recorder.positions.length, 2);
  player.change({ PlaybackStatus: new Variant('s', 'Paused'), Position: new Variant('x', 50_000_000n) });
  await until('the position at the end is sent', () => recorder.positions.length === 3);
  assert.equal(recorder.record('scripted')?.position, 50_000_000);
});

test('the position is read again 3 s after playing began, because a player stands still while it fills the output', async (t) => {
  const manual = new ManualClock();
  // Only this timer is manual.
  const after: Clock['after'] = (ms, callback) =>
    (ms > 2_000 && ms <= 3_000 ? manual : systemClock).after(ms, callback);
  const monotonic = () => systemClock.monotonic() + manual.monotonic();
  const { recorder, start } = await startBackend(t, undefined, {
    clock: { ...systemClock, monotonic, after },
  });
  const player = await start('scripted', { Position: new Variant('x', 9_000_000n) });
  assert.equal(manual.timers, 0, 'it does not play');
  player.change({ PlaybackStatus: new Variant('s', 'Playing') });
  await until('the position at the start is sent', () => recorder.positions.length === 1);
  await until('the timer of the second reading is set', () => manual.timers === 1);
  manual.advance(3_000);
  await until('the second position is sent', () => recorder.positions.length === 2);
  assert.equal(recorder.record('scripted')?.position, 9_000_000);
  assert.equal(manual.timers, 0, 'once');
});

test('the start waits a second for a player that hangs, and no longer', async (t) => {
  const clock = new ManualClock();
  const isUp = async (recorder: PlayersRecorder): Promise<void> => {
    await until('the start waits for the player', () => clock.timers === 1);
    clock.advance(999);
    assert.deepEqual([clock.timers, recorder.published], [1, []]);
    clock.advance(1);
    assert.equal(clock.timers, 0);
    await until('the backend is up', () => recorder.published.includes('up'));
  };
  await startBackend(t, (bus) => hungPlayer(t, bus), { clock, isUp });
});

test('a clock that is set is noticed within 30 s while a player plays, and unchanged positions are not sent', async (t) => {
  const manual = new ManualClock();
  let setByMs = 0;
  // Only the timer of 30 s is manual; changes are gathered and published as usual.
  const after: Clock['after'] = (ms, callback) => (ms < 30_000 ? systemClock : manual).after(ms, callback);
  const clock: Clock = { ...manual, date: () => manual.date() + setByMs, after };
  const { recorder, start } = await startBackend(t, undefined, { clock });
  const player = await start('scripted', { PlaybackStatus: new Variant('s', 'Playing') });
  const dated = (): string | undefined => recorder.record('scripted')?.position_updated_at;
  const at = dated();
  manual.advance(30_000);
  assert.equal(dated(), at, 'what it says can be reckoned from');
  setByMs = 1e11;
  manual.advance(29_999);
  assert.equal(dated(), at);
  manual.advance(1);
  assert.equal(dated(), new Date(clock.date()).toISOString());
  assert.equal(recorder.record('scripted')?.position, 1_000_000 + 60_000_000);
  assert.deepEqual(recorder.published, ['up', 'put players scripted', 'put players scripted']);
  player.change({ PlaybackStatus: new Variant('s', 'Paused') });
  await recorder.until('the player rests', 'scripted', ({ playback_status: status }) => status === 'Paused');
  manual.advance(30_000);
  assert.equal(manual.timers, 0, 'no timer runs while nothing plays');
});

test('a change of track is one event', async (t) => {
  const manual = new ManualClock();
  // Also when the player is read again, after a command and after a change: its position is another event.
  const after: Clock['after'] = (ms, callback) => (ms <= 100 ? manual : systemClock).after(ms, callback);
  const clock = { ...systemClock, monotonic: manual.monotonic, after };
  const { bus, backend, recorder } = await startBackend(t, undefined, { clock });
  const player = await ScriptedPlayer.start(t, bus);
  await until('the player is published', () => {
    manual.advance(50);
    return recorder.record('scripted') !== undefined;
  });
  // Any reading has ended when a command is answered; a change during a reading would cause a second one.
  const next = () => backend.handle({ do: 'next', player: busNameOf('scripted') });
  assert.equal(faultOf(await next()), 'none');
  manual.advance(100);
  assert.equal(faultOf(await next()), 'none');
  manual.advance(50);
  const before = recorder.published.length;
  player.change({ Metadata: metadata({ 'xesam:title': 'Two' }) });
  player.change({ CanGoNext: new Variant('b', false), Volume: new Variant('d', 0.4) });
  player.change({ PlaybackStatus: new Variant('s', 'Playing') });
  // The answer comes after all signals of the player.
  assert.equal(faultOf(await backend.handle({ do: 'play', player: busNameOf('scripted') })), 'none');
  assert.equal(recorder.published.length, before);
  manual.advance(50);
  const puts = recorder.published.slice(before).filter((line) => line.startsWith('put'));
  assert.deepEqual([puts, recorder.record('scripted')?.volume], [['put players scripted'], 0.4]);
});

test('an extrapolated position continues without a jump when the rate changes and at a pause', async (t) => {
  const manual = new ManualClock();
  const clock = { ...systemClock, monotonic: manual.monotonic };
  const { recorder, start } = await startBackend(t, undefined, { clock });
  const player = await start('scripted', { PlaybackStatus: new Variant('s', 'Playing') });
  // The position can then come only from extrapolation.
  player.misbehaves.set('GetAll', 'hang');
  manual.advance(10_000);
  player.announce({ Rate: new Variant('d', 2) });
  const faster = await recorder.until('the rate is published', 'scripted', ({ rate }) => rate === 2);
  assert.equal(faster.position, 1_000_000 + 10_000_000);
  manual.advance(5_000);
  player.announce({ PlaybackStatus: new Variant('s', 'Paused') });
  const paused = await recorder.until('it rests', 'scripted', (now) => now.playback_status === 'Paused');
  assert.equal(paused.position, 11_000_000 + 2 * 5_000_000);
});

test('a player that changes while it is read is read again, as the answer or the signal could be newer', async (t) => {
  const { recorder, start } = await startBackend(t);
  const player = await start();
  const readings = (): number => player.calls.filter((call) => call === `GetAll ${PLAYER_INTERFACE}`).length;
  player.misbehaves.set('GetAll', 'hang');
  player.announce({}, ['Shuffle']);
  await until('the player is being read', () => readings() === 2);
  player.misbehaves.clear();
  player.change({ Volume: new Variant('d', 0.7) });
  player.answerHung({ Volume: new Variant('d', 0.5) });
  await until('the player is read again', () => readings() === 3);
  const isLast = (now: PlayerRecord) => now.volume === 0.7 && now.capabilities.can_play;
  await recorder.until('the last state is published', 'scripted', isLast);
});

test('a burst of 20 000 changes costs few events; its last state and the changes of other players are published', async (t) => {
  const { recorder, start } = await startBackend(t);
  const flooder = await start('flooder');
  const other = await start('other');
  const before = recorder.published.length;
  for (let n = 0; n < 20_000; n += 1) {
    flooder.change({ Volume: new Variant('d', (n % 100) / 100) });
    if (n === 10_000) other.change({ Volume: new Variant('d', 0.11) });
    if (n % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  flooder.change({ Volume: new Variant('d', 0.99), Shuffle: new Variant('b', true) });
  await recorder.until('the other player is published', 'other', ({ volume }) => volume === 0.11);
  const last = await recorder.until(
    'the last state is published',
    'flooder',
    ({ shuffle }) => shuffle === true,
  );
  assert.equal(last.volume, 0.99);
  // The limit is 200 signals and one reading in each second.
  assert.ok(
    recorder.published.length - before < 400,
    `it published ${recorder.published.length - before} times`,
  );
  const readings = flooder.calls.length;
  // Its signals were ignored, and it was read instead: once when it appeared, then about once a second.
  assert.ok(readings > 2 && readings < 200, `${readings} calls`);
  flooder.change({ Volume: new Variant('d', 0.5) });
  await recorder.until('the flooding player is followed again', 'flooder', ({ volume }) => volume === 0.5);
});
