// When the position of a player is read, and how it is set, with scripted players on a real bus: a track that
// begins again, one without an id, and players that announce nothing.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Variant } from 'dbus-next';
import { type Clock, systemClock } from '../../../src/host/clock.js';
import { NO_TRACK, PLAYER_INTERFACE } from '../../../src/protocol/dbus/mpris.js';
import { ManualClock } from '../../manual-clock.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import { busNameOf, startBackend } from './backend-under-test.js';
import { metadata, type Properties } from './scripted-player.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

const SECOND_US = 1_000_000;
const target = { player: busNameOf('scripted') };
const us = (seconds: number) => new Variant('x', BigInt(seconds * SECOND_US));
const playing = new Variant('s', 'Playing');
const track = (title: string, seconds: number, more = {}): Variant =>
  metadata({ 'xesam:title': title, 'mpris:length': us(seconds), ...more });

/** A player 3 s after it began to play, with a clock whose seconds are the test's, but for short waits. */
async function playerOnTime(t: TestContext, properties: Properties) {
  const manual = new ManualClock();
  const after: Clock['after'] = (ms, callback) => (ms <= 500 ? systemClock : manual).after(ms, callback);
  const monotonic = () => systemClock.monotonic() + manual.monotonic();
  const { backend, recorder, start } = await startBackend(t, undefined, {
    clock: { ...systemClock, monotonic, after },
  });
  const player = await start('scripted', { PlaybackStatus: playing, Position: us(0), ...properties });
  const readings = (): number => player.calls.filter((call) => call === `GetAll ${PLAYER_INTERFACE}`).length;
  const isAt = (seconds: number): Promise<unknown> =>
    recorder.until(
      `the position is ${seconds} s`,
      'scripted',
      ({ position }) => position === seconds * SECOND_US,
    );
  /** The player is there, and says nothing of it. */
  const moveTo = (seconds: number): void => {
    player.properties[PLAYER_INTERFACE] = { ...player.properties[PLAYER_INTERFACE], Position: us(seconds) };
  };
  moveTo(3);
  manual.advance(3_000);
  await until('the position is read after the start', () => readings() === 2);
  return { manual, backend, recorder, player, readings, isAt, moveTo };
}

for (const name of ['Metadata', 'PlaybackStatus']) {
  test(`a signal with an unchanged ${name} causes a reading of the position`, async (t) => {
    const values: Properties = { Metadata: track('One', 15), PlaybackStatus: playing };
    const { manual, player, isAt, moveTo } = await playerOnTime(t, values);
    moveTo(1);
    manual.advance(12_000);
    player.announce({ [name]: values[name] as Variant });
    await isAt(1);
  });
}

test('the position is read once when a track should have ended, and again when the next one should have', async (t) => {
  const { manual, readings, isAt, moveTo } = await playerOnTime(t, { Metadata: track('One', 15) });
  moveTo(1);
  for (const round of [1, 2]) {
    const before = readings();
    manual.advance(12_999);
    assert.equal(readings(), before, `round ${round} has not ended`);
    manual.advance(1);
    await until(`the position is read at the end of round ${round}`, () => readings() === before + 1);
    await isAt(1);
    manual.advance(2_000);
  }
});

test('the position of a player that stops moving near the end of a track is read only once', async (t) => {
  const { manual, readings, isAt, moveTo } = await playerOnTime(t, { Metadata: track('One', 15) });
  moveTo(14);
  const before = readings();
  manual.advance(13_000);
  await until('the position is read at the end', () => readings() === before + 1);
  await isAt(14);
  for (let minute = 0; minute < 10; minute += 1) manual.advance(60_000);
  assert.equal(readings(), before + 1);
});

const IDS: readonly (readonly [what: string, more: object])[] = [
  ['no id', {}],
  ['always the same id', { 'mpris:trackid': new Variant('o', '/track') }],
];
for (const [what, more] of IDS) {
  test(`the next track of a player with ${what} begins at its beginning`, async (t) => {
    const { manual, player, recorder } = await playerOnTime(t, { Metadata: track('One', 240, more) });
    manual.advance(221_000);
    // Nothing is read before the track is published, but for a reading that is on its way already, whose
    // answer may replace the track of the first signal.
    player.hangsFor = PLAYER_INTERFACE;
    const next = await until('the track is published', () => {
      player.change({ Metadata: track('Two', 180, more) });
      const record = recorder.record('scripted');
      return record?.metadata?.['xesam:title'] === 'Two' && record;
    });
    assert.ok((next.position ?? 0) < SECOND_US, `${next.position}`);
  });
  test(`a track as long as the one before, of a player with ${what}, has the position that is read`, async (t) => {
    const { manual, player, isAt, moveTo } = await playerOnTime(t, { Metadata: track('One', 240, more) });
    manual.advance(221_000);
    moveTo(1);
    player.change({ Metadata: track('Two', 240, more) });
    await isAt(1);
  });
}

const UNUSABLE: readonly (readonly [what: string, id: Variant | undefined, meant: { track_id?: string }])[] =
  [
    ['no id', undefined, {}],
    ['an id that is no path', new Variant('s', 'spotify:track:1'), {}],
    ['the id for no track', new Variant('o', NO_TRACK), { track_id: NO_TRACK }],
  ];
for (const [what, id, meant] of UNUSABLE) {
  test(`the position of a track with ${what} is set by seeking the difference`, async (t) => {
    const { backend, player, moveTo } = await playerOnTime(t, {
      Metadata: track('One', 60, id === undefined ? {} : { 'mpris:trackid': id }),
    });
    moveTo(20);
    const set = async (seconds: number) =>
      faultOf(await backend.handle({ do: 'position', ...target, position: seconds * SECOND_US, ...meant }));
    assert.deepEqual([await set(50), await set(5), await set(90)], ['none', 'none', 'none']);
    const seeks = player.calls.filter((call) => call.startsWith('Seek'));
    assert.deepEqual(seeks, ['Seek 30000000', 'Seek -15000000', 'Seek 40000000']);
  });
}

test('a position beyond the end of a track is refused, and the answer names the length that was read just now', async (t) => {
  const id = { 'mpris:trackid': new Variant('o', '/track/1') };
  const { backend, player } = await playerOnTime(t, { Metadata: track('One', 60, id) });
  const set = (seconds: number, more = {}) =>
    backend.handle({ do: 'position', ...target, position: seconds * SECOND_US, ...more });
  const refused = await set(61);
  assert.equal(faultOf(refused), 'bad-value');
  assert.match(refused.ok ? '' : (refused.error.detail ?? ''), /ends at 60000000 microseconds/);
  assert.equal(faultOf(await set(60)), 'none');
  const properties = player.properties[PLAYER_INTERFACE];
  player.properties[PLAYER_INTERFACE] = { ...properties, Metadata: track('One', 90, id) };
  assert.equal(faultOf(await set(80)), 'none');
  const calls = player.calls.filter((call) => call.startsWith('SetPosition'));
  assert.deepEqual(calls, ['SetPosition /track/1 60000000', 'SetPosition /track/1 80000000']);
});

test('the track is read before its position is set, also where no signal announces the next one', async (t) => {
  const one = { 'mpris:trackid': new Variant('o', '/track/1') };
  const { backend, player, recorder } = await playerOnTime(t, { Metadata: track('One', 60, one) });
  const set = (track_id?: string) =>
    backend.handle({ do: 'position', ...target, position: 5 * SECOND_US, ...(track_id && { track_id }) });
  const stale = await set('/track/2');
  assert.equal(faultOf(stale), 'other-track');
  assert.match(
    stale.ok ? '' : stale.error.detail,
    /^track_id: the current track is not \/track\/2 but \/track\/1$/,
  );
  const two = { 'mpris:trackid': new Variant('o', '/track/2') };
  const properties = player.properties[PLAYER_INTERFACE];
  player.properties[PLAYER_INTERFACE] = { ...properties, Metadata: track('Two', 60, two) };
  assert.equal(faultOf(await set('/track/1')), 'other-track');
  await recorder.until(
    'the next track is published',
    'scripted',
    (now) => now.metadata?.['xesam:title'] === 'Two',
  );
  assert.deepEqual([faultOf(await set()), faultOf(await set('/track/2'))], ['none', 'none']);
  const calls = player.calls.filter((call) => call.startsWith('SetPosition'));
  assert.deepEqual(calls, ['SetPosition /track/2 5000000', 'SetPosition /track/2 5000000']);
});

test('no position is set where the player does not name its track', async (t) => {
  const id = { 'mpris:trackid': new Variant('o', '/track/1') };
  const { backend, player } = await playerOnTime(t, { Metadata: track('One', 60, id) });
  player.misbehaves.set('Get', { error: 'org.freedesktop.DBus.Error.NoReply' });
  assert.equal(faultOf(await backend.handle({ do: 'position', ...target, position: 5 })), 'timeout');
  assert.ok(!player.calls.some((call) => call.startsWith('SetPosition')));
});

test('a command to set the position of a player without track and position is refused', async (t) => {
  const { backend, player } = await playerOnTime(t, {});
  player.properties[PLAYER_INTERFACE] = { CanSeek: new Variant('b', true) };
  player.announce({}, ['Position']);
  await until('the position is gone', async () => {
    const answer = await backend.handle({ do: 'position', ...target, position: 0 });
    return faultOf(answer) === 'refused';
  });
});
