// Tests at which moments the backend reads the position of a player, and how it sets the position. Scripted
// players are on a real bus. Some repeat a track, some have tracks without an id, and some announce nothing.

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
import { metadata, type Properties, type ScriptedPlayer } from './scripted-player.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

const SECOND_US = 1_000_000;
const target = { player: busNameOf('scripted') };
const microseconds = (seconds: number) => new Variant('x', BigInt(seconds * SECOND_US));
const PLAYING = new Variant('s', 'Playing');
const trackMetadata = (title: string, seconds: number, more = {}): Variant =>
  metadata({ 'xesam:title': title, 'mpris:length': microseconds(seconds), ...more });
const trackId = (path: string) => ({ 'mpris:trackid': new Variant('o', path) });

/** Changes what the player answers to a reading. The player sends no signal. */
function changeSilently(player: ScriptedPlayer, properties: Properties): void {
  player.properties[PLAYER_INTERFACE] = { ...player.properties[PLAYER_INTERFACE], ...properties };
}

/**
 * Starts a player, and lets it play for 3 s. The test moves the clock, but waits of at most 500 ms are real.
 * The backend makes such a short wait before each requested reading (`READ_PAUSE_MS` in player.ts). So the
 * backend has requested no reading if `shortWaitCount` returns the same number as before.
 */
async function startPlaying(t: TestContext, properties: Properties) {
  const manual = new ManualClock();
  let shortWaits = 0;
  const after: Clock['after'] = (ms, callback) => {
    const isShort = ms <= 500;
    if (isShort) shortWaits += 1;
    return (isShort ? systemClock : manual).after(ms, callback);
  };
  const monotonic = () => systemClock.monotonic() + manual.monotonic();
  const { backend, recorder, start } = await startBackend(t, undefined, {
    clock: { ...systemClock, monotonic, after },
  });
  const player = await start('scripted', {
    PlaybackStatus: PLAYING,
    Position: microseconds(0),
    ...properties,
  });
  const readingCount = (): number =>
    player.calls.filter((call) => call === `GetAll ${PLAYER_INTERFACE}`).length;
  const untilPublished = (seconds: number): Promise<unknown> =>
    recorder.until(
      `the position is ${seconds} s`,
      'scripted',
      ({ position }) => position === seconds * SECOND_US,
    );
  /** From now on each reading finds the player at this position. The player sends no signal. */
  const moveTo = (seconds: number): void => changeSilently(player, { Position: microseconds(seconds) });
  // The first reading was when the player appeared. The backend reads the position again 3 s after playing
  // began (`SETTLED_MS` in position.ts).
  moveTo(3);
  changeSilently(player, { Volume: new Variant('d', 0.25) });
  manual.advance(3_000);
  // The new volume shows that the answer to the reading has been used.
  await recorder.until('the position is read after the start', 'scripted', ({ volume }) => volume === 0.25);
  assert.equal(readingCount(), 2);
  const shortWaitCount = (): number => shortWaits;
  return { manual, backend, recorder, player, readingCount, shortWaitCount, untilPublished, moveTo };
}

for (const name of ['Metadata', 'PlaybackStatus']) {
  test(`a signal with an unchanged ${name} causes a reading of the position`, async (t) => {
    const values: Properties = { Metadata: trackMetadata('One', 15), PlaybackStatus: PLAYING };
    const { manual, player, untilPublished, moveTo } = await startPlaying(t, values);
    moveTo(1);
    manual.advance(12_000);
    // The track should have just ended. Without a signal, the position would be read a second later.
    player.announce({ [name]: values[name] as Variant });
    await untilPublished(1);
  });
}

test('a track that begins again is published at position 0, even if the last announced position was also 0', async (t) => {
  const Metadata = trackMetadata('One', 60);
  const { manual, recorder, player, untilPublished, moveTo } = await startPlaying(t, { Metadata });
  // Some players answer every reading with the last announced position, and the backend ignores such answers.
  // This reading of 20 s shows that the player is none of them. So the last reading below, of 0, counts.
  moveTo(20);
  player.announce({ Metadata });
  await untilPublished(20);
  moveTo(0);
  player.announceSeek(0);
  await untilPublished(0);
  const positionsBefore = recorder.positions.length;
  manual.advance(5_000);
  player.announce({ Metadata });
  await until('the new beginning is published', () => recorder.positions.length > positionsBefore);
  assert.equal(recorder.record('scripted')?.position, 0);
});

// After `startPlaying`, 12 s of a track of 15 s are left. The backend reads the position a second after the
// track's end (`END_SLACK_MS` in position.ts).
test('each time a track should have ended, the position is read exactly once', async (t) => {
  const { manual, readingCount, shortWaitCount, untilPublished, moveTo } = await startPlaying(t, {
    Metadata: trackMetadata('One', 15),
  });
  moveTo(1);
  for (const round of [1, 2]) {
    const readingsBefore = readingCount();
    const shortWaitsBefore = shortWaitCount();
    manual.advance(12_999);
    assert.equal(shortWaitCount(), shortWaitsBefore, `no reading is requested yet in round ${round}`);
    manual.advance(1);
    await until(`the position is read in round ${round}`, () => readingCount() === readingsBefore + 1);
    await untilPublished(1);
    // At the end of these 2 s the position is 3 s again, and 12 s of the track are left.
    manual.advance(2_000);
  }
});

test('if the position stays near the end of a track, it is read only once after the track should have ended', async (t) => {
  const { manual, readingCount, shortWaitCount, untilPublished, moveTo } = await startPlaying(t, {
    Metadata: trackMetadata('One', 15),
  });
  moveTo(14);
  const readingsBefore = readingCount();
  manual.advance(13_000);
  await until('the position is read', () => readingCount() === readingsBefore + 1);
  await untilPublished(14);

  const shortWaitsBefore = shortWaitCount();
  for (let minute = 0; minute < 10; minute += 1) manual.advance(60_000);
  assert.equal(shortWaitCount(), shortWaitsBefore, 'no further reading is requested');
});

/** After `startPlaying` and this time, a track of 240 s is at 224 s. */
const NEARLY_WHOLE_TRACK_MS = 221_000;
const TRACK_IDS: readonly (readonly [what: string, id: object])[] = [
  ['no id', {}],
  ['always the same id', trackId('/track')],
];
for (const [what, id] of TRACK_IDS) {
  test(`if tracks have ${what}, the next track is published with a position near 0`, async (t) => {
    const { manual, player, recorder } = await startPlaying(t, { Metadata: trackMetadata('One', 240, id) });
    manual.advance(NEARLY_WHOLE_TRACK_MS);
    // From now on the player answers no reading. The answer to an earlier reading may still arrive after the
    // first signal, and bring back the old track. So the signal is repeated.
    player.hungInterface = PLAYER_INTERFACE;
    const next = await until('the next track is published', () => {
      player.change({ Metadata: trackMetadata('Two', 180, id) });
      const record = recorder.record('scripted');
      return record?.metadata?.['xesam:title'] === 'Two' && record;
    });
    assert.ok((next.position ?? 0) < SECOND_US, `the position is ${next.position}`);
  });
  test(`if tracks have ${what}, the position of the next track is read, even if both tracks are equally long`, async (t) => {
    const { manual, player, untilPublished, moveTo } = await startPlaying(t, {
      Metadata: trackMetadata('One', 240, id),
    });
    manual.advance(NEARLY_WHOLE_TRACK_MS);
    moveTo(1);
    player.change({ Metadata: trackMetadata('Two', 240, id) });
    await untilPublished(1);
  });
}

/**
 * The test sends three commands with the ids of `commandedIds`; undefined means no id. For a track without a
 * usable id, all these ids are accepted (`positionRefusalOf` in players/commands.ts).
 */
type UnusableId = readonly [
  what: string,
  id: Variant | undefined,
  commandedIds: readonly [string | undefined, string | undefined, string | undefined],
];
const UNUSABLE_IDS: readonly UnusableId[] = [
  ['no id', undefined, [undefined, '/', '']],
  ['an id that is no path', new Variant('s', 'spotify:track:1'), [undefined, 'spotify:track:1', '/']],
  ['the id that stands for no track', new Variant('o', NO_TRACK), [undefined, NO_TRACK, '/']],
];
for (const [what, id, commandedIds] of UNUSABLE_IDS) {
  test(`the position of a track with ${what} is set by a seek from the present position`, async (t) => {
    const { backend, player, moveTo } = await startPlaying(t, {
      Metadata: trackMetadata('One', 60, id === undefined ? {} : { 'mpris:trackid': id }),
    });
    moveTo(20);
    // The scripted player stays at 20 s after each command. The last requested position, 90 s, is beyond the
    // end of the track. A seek to 90 s would begin the next track, so the backend seeks to the end, at 60 s.
    for (const [index, seconds] of [50, 5, 90].entries()) {
      const command = { do: 'position', ...target, position: seconds * SECOND_US } as const;
      const commandedId = commandedIds[index];
      const answer = await backend.handle(
        commandedId === undefined ? command : { ...command, track_id: commandedId },
      );
      assert.equal(faultOf(answer), 'none');
    }

    const seeks = player.calls.filter((call) => call.startsWith('Seek'));
    assert.deepEqual(seeks, ['Seek 30000000', 'Seek -15000000', 'Seek 40000000']);
  });
}

test('before a position is set, the length of the track is read, and a position beyond the end is refused', async (t) => {
  const id = trackId('/track/1');
  const { backend, player } = await startPlaying(t, { Metadata: trackMetadata('One', 60, id) });
  const setPosition = (seconds: number) =>
    backend.handle({ do: 'position', ...target, position: seconds * SECOND_US });
  const refused = await setPosition(61);
  assert.equal(faultOf(refused), 'bad-value');
  assert.match(refused.ok ? '' : refused.error.detail, /ends at 60000000 microseconds/);
  assert.equal(faultOf(await setPosition(60)), 'none');

  changeSilently(player, { Metadata: trackMetadata('One', 90, id) });
  assert.equal(faultOf(await setPosition(80)), 'none');
  const calls = player.calls.filter((call) => call.startsWith('SetPosition'));
  assert.deepEqual(calls, ['SetPosition /track/1 60000000', 'SetPosition /track/1 80000000']);
});

test('before a position is set, the current track is read, so a track without an announcement is known, too', async (t) => {
  const { backend, player, recorder } = await startPlaying(t, {
    Metadata: trackMetadata('One', 60, trackId('/track/1')),
  });
  const setPosition = (track_id?: string) =>
    backend.handle({ do: 'position', ...target, position: 5 * SECOND_US, ...(track_id && { track_id }) });
  const refused = await setPosition('/track/2');
  assert.equal(faultOf(refused), 'other-track');
  assert.match(
    refused.ok ? '' : refused.error.detail,
    /^track_id: the current track is not \/track\/2 but \/track\/1$/,
  );

  changeSilently(player, { Metadata: trackMetadata('Two', 60, trackId('/track/2')) });
  // The first id is that of the earlier track. Clients may send the other two ids for a track without a
  // usable id, but the current track has a usable id.
  for (const id of ['/track/1', '/', 'spotify:track:1'])
    assert.equal(faultOf(await setPosition(id)), 'other-track', id);
  await recorder.until(
    'the next track is published',
    'scripted',
    (record) => record.metadata?.['xesam:title'] === 'Two',
  );
  assert.equal(faultOf(await setPosition()), 'none');
  assert.equal(faultOf(await setPosition('/track/2')), 'none');
  const calls = player.calls.filter((call) => call.startsWith('SetPosition'));
  assert.deepEqual(calls, ['SetPosition /track/2 5000000', 'SetPosition /track/2 5000000']);
});

test('no position is set if the player does not answer which track it has', async (t) => {
  const { backend, player } = await startPlaying(t, {
    Metadata: trackMetadata('One', 60, trackId('/track/1')),
  });
  player.misbehaviours.set('Get', { error: 'org.freedesktop.DBus.Error.NoReply' });
  assert.equal(faultOf(await backend.handle({ do: 'position', ...target, position: 5 })), 'timeout');
  assert.ok(!player.calls.some((call) => call.startsWith('SetPosition')));
});

test('a command to set the position is refused if the player has neither a track nor a position', async (t) => {
  const { backend, player } = await startPlaying(t, {});
  player.properties[PLAYER_INTERFACE] = { CanSeek: new Variant('b', true) };
  // The signal only makes the backend read the player again.
  player.announce({}, ['Position']);
  await until('the command is refused', async () => {
    const answer = await backend.handle({ do: 'position', ...target, position: 0 });
    return faultOf(answer) === 'refused';
  });
});
