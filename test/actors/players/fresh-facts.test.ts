// Tests that the players backend reads a player again before it refuses a command to this player, because not
// every player sends a signal about a new ability.

import assert from 'node:assert/strict';
import { Variant } from 'dbus-next';
import type { PlayerCommand } from '../../../src/actors/players/commands.js';
import { type Clock, systemClock } from '../../../src/host/clock.js';
import type { PlayerRecord } from '../../../src/protocol/actor/schemas.js';
import { PLAYER_INTERFACE, ROOT_INTERFACE, TRACKLIST_INTERFACE } from '../../../src/protocol/dbus/mpris.js';
import { ManualClock } from '../../manual-clock.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import { busNameOf, startBackend } from './backend-under-test.js';
import { ScriptedPlayer } from './scripted-player.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

const target = { player: busNameOf('scripted') };
const NO = new Variant('b', false);
const YES = new Variant('b', true);

/** A command, the property that it needs, and the member of `capabilities` for this property. */
type Row = readonly [command: PlayerCommand, property: string, member: keyof PlayerRecord['capabilities']];
const ROWS: readonly Row[] = [
  [{ do: 'play', ...target }, 'CanPlay', 'can_play'],
  [{ do: 'play_pause', ...target }, 'CanPlay', 'can_play'],
  [{ do: 'pause', ...target }, 'CanPause', 'can_pause'],
  [{ do: 'next', ...target }, 'CanGoNext', 'can_go_next'],
  [{ do: 'previous', ...target }, 'CanGoPrevious', 'can_go_previous'],
  [{ do: 'seek', ...target, offset: 1 }, 'CanSeek', 'can_seek'],
  [{ do: 'position', ...target, position: 1 }, 'CanSeek', 'can_seek'],
  [{ do: 'stop', ...target }, 'CanControl', 'can_control'],
  [{ do: 'volume', ...target, volume: 1 }, 'CanControl', 'can_control'],
  [{ do: 'loop', ...target, loop: 'None' }, 'CanControl', 'can_control'],
  [{ do: 'shuffle', ...target, shuffle: true }, 'CanControl', 'can_control'],
];

for (const [command, property, member] of ROWS) {
  test(`${command.do} is refused only if the player still says that ${property} is false`, async (t) => {
    const { backend, recorder, start } = await startBackend(t);
    const player = await start('scripted', { [property]: NO });
    const isAble = () => recorder.record('scripted')?.capabilities[member];
    const readingCount = (): number =>
      player.calls.filter((call) => call === `GetAll ${PLAYER_INTERFACE}`).length;

    assert.equal(isAble(), false);
    assert.equal(faultOf(await backend.handle(command)), 'not-able');
    assert.equal(readingCount(), 2, 'the player was read once more');

    player.properties[PLAYER_INTERFACE] = { ...player.properties[PLAYER_INTERFACE], [property]: YES };
    assert.equal(faultOf(await backend.handle(command)), 'none');
    assert.equal(isAble(), true, 'the record has changed before the answer');
  });
}

test('a command is answered with a timeout, and not refused as impossible, if the player cannot be read', async (t) => {
  const { backend, start } = await startBackend(t, undefined, { callDeadlineMs: 2_000 });
  const player = await start('scripted', { CanPlay: NO });
  player.misbehaviours.set('GetAll', { error: 'org.freedesktop.DBus.Error.TimedOut' });
  player.misbehaviours.set('Get', { error: 'org.freedesktop.DBus.Error.TimedOut' });
  assert.equal(faultOf(await backend.handle({ do: 'play', ...target })), 'timeout');
});

/** `GATHER_MS` of player.ts: the backend gathers changes for this time before it publishes them. */
const GATHER_MS = 50;

test('the answer to a command is "no-such-player" if the player leaves before the refusal is decided', async (t) => {
  const manual = new ManualClock();
  // Only the timer that gathers changes is on the manual clock.
  const after: Clock['after'] = (ms, callback) => {
    const clock = ms === GATHER_MS ? manual : systemClock;
    return clock.after(ms, callback);
  };
  const { bus, backend, recorder } = await startBackend(t, undefined, { clock: { ...systemClock, after } });
  const player = await ScriptedPlayer.start(t, bus, 'scripted', { CanPlay: NO });
  await until('the player is published', () => {
    manual.advance(GATHER_MS);
    return recorder.record('scripted') !== undefined;
  });

  player.misbehaviours.set('GetAll', 'hang');
  const answer = backend.handle({ do: 'play', ...target });
  await until('the player is being read again', () => player.calls.at(-1) === `GetAll ${PLAYER_INTERFACE}`);

  // This change waits to be published. The command publishes such changes before its answer, but must not
  // do so after the player has left.
  player.change({ Volume: new Variant('d', 0.9) });
  await player.releaseName('scripted');
  assert.equal(faultOf(await answer), 'no-such-player');
  assert.deepEqual(recorder.names, []);
  // The records of a player are dropped together, and that of the tracklist is the last one.
  assert.equal(recorder.published.at(-1), 'drop players.tracklist scripted');
});

test('eight commands that come at the same time share the readings before their refusals', async (t) => {
  const { backend, start } = await startBackend(t);
  const player = await start('scripted', { CanPlay: NO });
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => backend.handle({ do: 'play', ...target })),
  );
  assert.ok(answers.every((answer) => faultOf(answer) === 'not-able'));
  const readings = player.calls.filter((call) => call === `GetAll ${PLAYER_INTERFACE}`);
  // The first reading came before the commands. The commands share one or two further readings.
  assert.ok(readings.length <= 3, `${readings.length} readings`);
});

test('the tracklist, its tracks, `CanEditTracks` and the URI schemes are read again before a refusal', async (t) => {
  const { bus, backend, recorder } = await startBackend(t);
  const player = await ScriptedPlayer.start(t, bus);
  await recorder.until('the player is published', 'scripted', () => true);
  const goTo: PlayerCommand = { do: 'goto', ...target, track: '/t/1' };
  const add: PlayerCommand = { do: 'add', ...target, uri: 'http://radio/' };
  const faultOfCommand = async (command: PlayerCommand) => faultOf(await backend.handle(command));
  const readOnlyTracklistOf = (...ids: readonly string[]) => ({
    Tracks: new Variant('ao', [...ids]),
    CanEditTracks: NO,
  });

  assert.equal(await faultOfCommand(goTo), 'no-tracklist');

  player.properties[TRACKLIST_INTERFACE] = readOnlyTracklistOf('/t/2');
  assert.equal(await faultOfCommand(goTo), 'no-such-track');
  assert.equal(recorder.record('scripted')?.tracklist_supported, true);

  player.properties[TRACKLIST_INTERFACE] = readOnlyTracklistOf('/t/1', '/t/2');
  assert.equal(await faultOfCommand(goTo), 'none');
  assert.equal(await faultOfCommand(add), 'not-able');

  player.properties[TRACKLIST_INTERFACE] = { ...readOnlyTracklistOf('/t/1'), CanEditTracks: YES };
  // The player has no URI schemes yet.
  assert.equal(await faultOfCommand(add), 'bad-value');

  player.properties[ROOT_INTERFACE] = { SupportedUriSchemes: new Variant('as', ['http']) };
  assert.equal(await faultOfCommand(add), 'none');
  await until('the track is added', () => player.calls.includes('AddTrack http://radio/ /t/1 false'));
});
