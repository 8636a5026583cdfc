// Tests the players backend with scripted players on a real bus: names, readings, signals, commands, and
// misbehaviour.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { Variant } from 'dbus-next';
import { PlayersBackend } from '../../../src/actors/players/backend.js';
import { systemClock } from '../../../src/host/clock.js';
import type { Answer, PlayersCommand } from '../../../src/protocol/actor/commands.js';
import {
  NO_TRACK,
  PLAYER_INTERFACE,
  PLAYER_PATH,
  PLAYERCTLD_INTERFACE,
  ROOT_INTERFACE,
  TRACKLIST_INTERFACE,
} from '../../../src/protocol/dbus/mpris.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import type { PrivateBus } from '../bus/private-bus.js';
import { reply, type Script, scriptedBus } from '../bus/scripted-bus.js';
import { faultOf } from '../recorder.js';
import { busNameOf, PlayersRecorder, startBackend, startHungPlayer } from './backend-under-test.js';
import { metadata, ScriptedPlayer } from './scripted-player.js';

const runProgram = promisify(execFile);
const test = testsNeeding({ programs: ['dbus-daemon', 'busctl'] });

/** At most this many players are published. */
const PLAYERS_MAX = 32;
/** Commands find this many tracks from the beginning of a list, and the last track. */
const TRACKS_OF_COMMANDS_MAX = 20_000;
/** At most this many commands of one player may be under way. */
const COMMANDS_MAX = 8;
/** The bus's answer to a request for a name that another connection owns: the request is in the queue. */
const IN_QUEUE = 2;

test('a name without an owner is no player, and no command starts the service that the bus has for the name', async (t) => {
  const dataHome = temporaryFolder(t);
  mkdirSync(join(dataHome, 'dbus-1/services'), { recursive: true });
  const name = busNameOf('playerctld');
  const service = `[D-BUS Service]\nName=${name}\nExec=/usr/bin/touch ${join(dataHome, 'started')}\n`;
  writeFileSync(join(dataHome, 'dbus-1/services/playerctld.service'), service);
  const { backend, recorder, start } = await startBackend(t, undefined, { dataHome });
  assert.equal(faultOf(await backend.handle({ do: 'play', player: name })), 'no-such-player');
  await start('other');
  assert.deepEqual(recorder.names, ['other']);
  assert.ok(!existsSync(join(dataHome, 'started')), 'the service was not started');
});

test('when a player leaves, its name passes to the next player in the queue of the bus', async (t) => {
  const { bus, recorder, start } = await startBackend(t);
  const first = await start('shared', { Volume: new Variant('d', 0.1) });
  const next = await ScriptedPlayer.connect(t, bus);
  next.properties[PLAYER_INTERFACE] = { Volume: new Variant('d', 0.9) };
  assert.equal(await next.requestName('shared'), IN_QUEUE);

  first.leave();
  await recorder.until('the other player is published', 'shared', ({ volume }) => volume === 0.9);

  const playerLines = recorder.published.filter((line) => line.includes(' players '));
  assert.deepEqual(playerLines.slice(-3), [
    'put players shared',
    'drop players shared',
    'put players shared',
  ]);
});

/** With these arguments, busctl prints the match rules of all connections. */
const PRINT_MATCH_RULES =
  'call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus.Debug.Stats GetAllMatchRules';

test('a connection is one player under its shortest name, and is watched until it has no name', async (t) => {
  const { backend, bus, recorder, start } = await startBackend(t);
  const player = await start('vlc.instance7');
  await player.requestName('vlc');
  await until('the short name is published', () => recorder.names.join() === 'vlc');

  await player.requestName('vlc.instance9');
  for (const name of ['vlc', 'vlc.instance7', 'vlc.instance9'])
    assert.equal(faultOf(await backend.handle({ do: 'play', player: busNameOf(name) })), 'none', name);
  player.change({ Volume: new Variant('d', 0.75) });
  await recorder.until('the volume is published', 'vlc', ({ volume }) => volume === 0.75);
  assert.deepEqual(recorder.names, ['vlc']);

  await player.releaseName('vlc');
  await until('the long name is published', () => recorder.names.join() === 'vlc.instance7');
  player.change({ Volume: new Variant('d', 0.25) });
  await recorder.until('the volume is published', 'vlc.instance7', ({ volume }) => volume === 0.25);

  const isWatched = async (): Promise<boolean> => {
    const { stdout: rules } = await runProgram('busctl', [
      `--address=${bus.address}`,
      ...PRINT_MATCH_RULES.split(' '),
    ]);
    return rules.includes(PLAYER_PATH);
  };
  assert.ok(await isWatched());
  for (const name of ['vlc.instance7', 'vlc.instance9']) await player.releaseName(name);
  await until('the player is gone', () => recorder.names.length === 0);
  await until('the signals of the connection are no longer watched', async () => !(await isWatched()));
});

test('two connections of a process are one player only if one has the name of the other, followed by .instance and the process id', async (t) => {
  const longName = `vlc.instance${process.pid}`;
  const others = [`other.instance${process.pid}`, 'vlc.instance1', 'vlc.more'];
  const players = new Map<string, ScriptedPlayer>();
  const startPlayer = async (onBus: PrivateBus, name: string): Promise<void> => {
    players.set(name, await ScriptedPlayer.start(t, onBus, name));
  };
  const { bus, recorder } = await startBackend(t, async (onBus) => {
    for (const name of [longName, 'vlc', ...others]) await startPlayer(onBus, name);
  });
  // All connections are of this process. The names `vlc` and `longName` are one player.
  await until('all players are published', () => recorder.names.length === 4);
  assert.deepEqual(recorder.names, [...others, 'vlc'].sort());

  // The connection with the long name is replaced while the backend is up. Then the other connection leaves.
  players.get(longName)?.leave();
  await startPlayer(bus, longName);
  players.get('vlc')?.leave();
  await until('the connection with the long name is a player', () => recorder.names.includes(longName));
  assert.deepEqual(recorder.names, [...others, longName].sort());
  // The last two lines belong to the change from `vlc` to the long name. No earlier line may put the record
  // of the long name, because the two connections were one player until then.
  const earlierLines = recorder.published.slice(0, -2);
  assert.ok(!earlierLines.includes(`put players ${longName}`), recorder.published.join());

  // `vlc.instance1` names another process, so it keeps its record.
  await startPlayer(bus, 'vlc');
  await until('the connection with the short name is the player', () => recorder.names.includes('vlc'));
  assert.deepEqual(recorder.names, [...others, 'vlc'].sort());
  assert.ok(!recorder.published.includes('drop players vlc.instance1'), recorder.published.join());
});

test('changes are taken from signals, and properties that a signal invalidates are read again', async (t) => {
  const { recorder, start } = await startBackend(t);
  const player = await start('scripted', { LoopStatus: new Variant('s', 'None') });
  const readingCount = (): number =>
    player.calls.filter((call) => call === `GetAll ${PLAYER_INTERFACE}`).length;

  player.announce({ LoopStatus: new Variant('s', 'Track'), Shuffle: new Variant('b', true) });
  const announced = await recorder.until(
    'the announced values are published',
    'scripted',
    ({ shuffle }) => shuffle === true,
  );
  assert.equal(announced.loop_status, 'Track');
  assert.equal(readingCount(), 1, 'the signal causes no reading');

  player.properties[PLAYER_INTERFACE] = { Shuffle: new Variant('b', false) };
  player.properties[ROOT_INTERFACE] = {};
  player.announce({}, ['Shuffle']);
  const reread = await recorder.until(
    'the values of the reading are published',
    'scripted',
    ({ shuffle }) => shuffle === false,
  );
  assert.equal(reread.loop_status, undefined, 'a property that is missing in a reading no longer exists');
  assert.equal(reread.capabilities.can_play, false);
  // A player without the property `Identity` is called by its name on the bus (facts.ts).
  assert.deepEqual([reread.identity, reread.can_quit], ['scripted', undefined]);

  player.announce({ Identity: new Variant('s', 'Renamed') }, [], ROOT_INTERFACE);
  await recorder.until('the new identity is published', 'scripted', ({ identity }) => identity === 'Renamed');
});

/** Makes the player answer with errors, like a player that owns its name already, but has no object yet. */
function answerWithErrors({ misbehaviours }: ScriptedPlayer): void {
  for (const member of ['GetAll', 'Get'])
    misbehaviours.set(member, { error: 'org.freedesktop.DBus.Error.UnknownObject' });
}

/** Waits for the second reading. When it begins, all calls of the first one have been answered. */
const untilReadTwice = ({ calls }: ScriptedPlayer) =>
  until(
    'the player is read twice',
    () => calls.filter((call) => call === `GetAll ${PLAYER_INTERFACE}`).length > 1,
  );

test('a player that answers with errors is published, with its tracklist, as soon as it answers without errors', async (t) => {
  const { bus, recorder } = await startBackend(t);
  const player = await ScriptedPlayer.connect(t, bus);
  player.properties[TRACKLIST_INTERFACE] = { Tracks: new Variant('ao', ['/t/1']) };
  answerWithErrors(player);
  await player.requestName('early');
  await untilReadTwice(player);
  assert.equal(recorder.record('early'), undefined);
  player.misbehaviours.clear();
  await recorder.until('the player is published', 'early', (record) => record.tracklist_supported);
});

test('playerctld, which only repeats other players, is not listed, even if it answers with errors at first', async (t) => {
  const { bus, recorder, start } = await startBackend(t);
  const repeater = await ScriptedPlayer.connect(t, bus);
  repeater.properties[PLAYERCTLD_INTERFACE] = { PlayerNames: new Variant('as', []) };
  answerWithErrors(repeater);
  await repeater.requestName('repeater');
  await untilReadTwice(repeater);
  const callCountBefore = repeater.calls.length;
  repeater.misbehaviours.clear();
  await until('the backend has asked again whether the player is playerctld', () =>
    repeater.calls.slice(callCountBefore).includes(`GetAll ${PLAYERCTLD_INTERFACE}`),
  );
  await start('other');
  assert.deepEqual(recorder.names, ['other']);
});

test('a player that hangs delays neither the start of the backend nor other players, and keeps its last state', async (t) => {
  const prepare = (bus: PrivateBus) => startHungPlayer(t, bus);
  const { backend, recorder, start } = await startBackend(t, prepare, { callDeadlineMs: 2_000 });
  assert.deepEqual(recorder.published, ['up']);

  // `hung` has answered no reading. `mute` answers the first reading, and then hangs.
  const mute = await start('mute');
  for (const member of ['GetAll', 'Play']) mute.misbehaviours.set(member, 'hang');
  mute.change({ Volume: new Variant('d', 0.7), PlaybackStatus: new Variant('s', 'Playing') });
  await recorder.until('the new volume is published', 'mute', ({ volume }) => volume === 0.7);

  const other = await start('other');
  const play = (name: string): Promise<Answer> => backend.handle({ do: 'play', player: busNameOf(name) });
  const answers = Array.from({ length: COMMANDS_MAX + 2 }, () => play('mute'));
  assert.equal(faultOf(await play('other')), 'none');
  assert.ok(other.calls.includes('Play'));
  // `mute` gets eight commands (`COMMANDS_MAX`), and answers none of them. The backend refuses the other two
  // commands at once.
  const faults = (await Promise.all(answers)).map(faultOf);
  assert.deepEqual(
    faults.slice(0, COMMANDS_MAX),
    Array.from({ length: COMMANDS_MAX }, () => 'timeout'),
  );
  assert.deepEqual(faults.slice(COMMANDS_MAX), ['unavailable', 'unavailable']);
  assert.equal(mute.calls.filter((call) => call === 'Play').length, COMMANDS_MAX);
  assert.equal(recorder.record('mute')?.volume, 0.7);
});

test('a player is published even if its tracklist hangs, or if signals and answers of the tracklist are malformed', async (t) => {
  const { bus, recorder } = await startBackend(t);
  const player = await ScriptedPlayer.connect(t, bus);
  player.hungInterface = TRACKLIST_INTERFACE;
  await player.requestName('slow');
  await until('the player is read', () => player.calls.includes(`GetAll ${PLAYER_INTERFACE}`));
  player.change({ Shuffle: new Variant('b', true) });
  const published = await recorder.until(
    'the change is published',
    'slow',
    ({ shuffle }) => shuffle === true,
  );
  assert.equal(published.tracklist_supported, false);
  // The value of this signal should be the id of a track.
  player.emit(TRACKLIST_INTERFACE, 'TrackRemoved', 'a{sv}', [{ odd: new Variant('i', 1) }]);

  // After this answer the backend calls GetTracksMetadata. The reply of the scripted player is malformed: it
  // has no list.
  player.answerHung({ Tracks: new Variant('ao', ['/t/1']) });
  await recorder.until(
    'the tracklist is published',
    'slow',
    ({ tracklist_supported: isSupported }) => isSupported,
  );
});

/** Starts a player called `listed` with these tracks. Resolves when the backend has read the tracks. */
async function startWithTracklist(t: TestContext, tracks: readonly string[]) {
  const { backend, bus, recorder } = await startBackend(t);
  const player = await ScriptedPlayer.connect(t, bus);
  player.properties[ROOT_INTERFACE] = { SupportedUriSchemes: new Variant('as', ['http']) };
  const tracklist = { Tracks: new Variant('ao', [...tracks]), CanEditTracks: new Variant('b', true) };
  player.properties[TRACKLIST_INTERFACE] = tracklist;
  await player.requestName('listed');
  await recorder.until(
    'the tracklist is read',
    'listed',
    ({ tracklist_supported: isSupported }) => isSupported,
  );
  const target = { player: busNameOf('listed') };
  return { backend, player, tracklist, recorder, target };
}

test('commands find the first 20 000 tracks of a list, and a track is added after the very last one', async (t) => {
  const tracks = Array.from({ length: TRACKS_OF_COMMANDS_MAX + 2 }, (_, index) => `/t/${index + 1}`);
  const { backend, player, tracklist, target } = await startWithTracklist(t, tracks);
  // Clients get only the first 500 tracks of a list (`TRACKS_MAX` of tracklist.ts). A command may have
  // the last segment of a track's id, such as `501`, instead of the whole id.
  for (const track of ['/t/500', '/t/501', '501', '/t/20000'])
    assert.equal(faultOf(await backend.handle({ do: 'goto', ...target, track })), 'none');
  assert.equal(faultOf(await backend.handle({ do: 'goto', ...target, track: '/t/20001' })), 'no-such-track');
  const uri = 'http://radio/';
  assert.equal(faultOf(await backend.handle({ do: 'add', ...target, uri })), 'none');
  assert.ok(player.calls.includes(`AddTrack ${uri} /t/20002 false`));

  tracklist.Tracks = new Variant('ao', [...tracks, '/t/20003']);
  // The list has never had the track `/t/other`. The signal only makes the backend read the list again.
  player.emit(TRACKLIST_INTERFACE, 'TrackRemoved', 'o', ['/t/other']);
  await until('a track is added after the new last one', async () => {
    await backend.handle({ do: 'add', ...target, uri });
    return player.calls.includes(`AddTrack ${uri} /t/20003 false`);
  });
});

test('a track is added at the end if `after_track` is empty, and before the first track if `after_track` is NoTrack', async (t) => {
  const { backend, player, target } = await startWithTracklist(t, ['/t/1', '/t/2']);
  const uri = 'http://radio/';
  for (const after_track of ['', 'NoTrack', NO_TRACK])
    assert.equal(faultOf(await backend.handle({ do: 'add', ...target, uri, after_track })), 'none');
  const added = player.calls.filter((call) => call.startsWith('AddTrack'));
  const [atEnd, ...atBeginning] = added;
  assert.equal(atEnd, `AddTrack ${uri} /t/2 false`);
  assert.deepEqual(atBeginning, [`AddTrack ${uri} ${NO_TRACK} false`, `AddTrack ${uri} ${NO_TRACK} false`]);
  // `NoTrack` stands for no track, so it cannot be played.
  assert.equal(faultOf(await backend.handle({ do: 'goto', ...target, track: 'NoTrack' })), 'no-such-track');
});

test('if there are more than 32 players, the next one is published when one leaves, and the log reports only once that there are too many', async (t) => {
  const { bus, recorder } = await startBackend(t);
  const names = Array.from({ length: PLAYERS_MAX + 3 }, (_, index) => `p${index}`);
  const players = new Map<string, ScriptedPlayer>();
  for (const name of names) players.set(name, await ScriptedPlayer.start(t, bus, name));
  await until('32 players are published', () => recorder.names.length === PLAYERS_MAX);

  // `p32` to `p34` are too many, and wait to be published. `p32` leaves, so `p33` is the first that waits.
  await players.get('p32')?.releaseName('p32');
  await players.get('p0')?.releaseName('p0');
  await until('the next player is published', () => recorder.names.includes('p33'));
  const unpublished = ['p0', 'p32', 'p34'];
  assert.deepEqual(recorder.names, names.filter((name) => !unpublished.includes(name)).sort());
  assert.equal(recorder.logs.filter((line) => line.includes('too many')).length, 1);
});

test('names that appear and disappear all the time delay no command to other players, even if their player hangs', async (t) => {
  const { backend, bus, recorder, start } = await startBackend(t);
  const others = ['a', 'b', 'c', 'd'];
  for (const name of others) await start(name);
  const flapper = await ScriptedPlayer.connect(t, bus);
  flapper.misbehaviours.set('GetAll', 'hang');
  for (let round = 0; round < 20; round += 1) {
    // All names change at once, so that the bus sends its signals as fast as it can.
    const names = Array.from({ length: 200 }, (_, index) => `f${index}`);
    const nameChanges = names.flatMap((name) => [flapper.requestName(name), flapper.releaseName(name)]);
    // Each of the other players gets as many commands as may be under way.
    const commandedNames = Array.from({ length: COMMANDS_MAX }, () => others).flat();
    const answers = commandedNames.map((name) => backend.handle({ do: 'next', player: busNameOf(name) }));
    const refused = (await Promise.all(answers)).filter(({ ok }) => !ok);
    assert.deepEqual(refused, [], `round ${round}`);
    await Promise.all(nameChanges);
  }
  flapper.misbehaviours.clear();
  await flapper.requestName('flapper');
  await recorder.until('the last name is published', 'flapper', () => true);
  assert.deepEqual(recorder.names, [...others, 'flapper']);
});

/** The bus itself sends `NoReply` if a player leaves before its answer. */
const FAULTS_OF_ERRORS: readonly (readonly [error: string, fault: string])[] = [
  ['org.mpris.MediaPlayer2.Error', 'refused'],
  ['org.freedesktop.DBus.Error.UnknownMethod', 'refused'],
  ['com.example.Never.Heard.Of', 'refused'],
  ['org.freedesktop.DBus.Error.TimedOut', 'timeout'],
  ['org.freedesktop.DBus.Error.NoReply', 'no-such-player'],
  ['org.freedesktop.DBus.Error.ServiceUnknown', 'no-such-player'],
  ['org.freedesktop.DBus.Error.Spawn.Failed', 'no-such-player'],
];
test('each D-Bus error of a player becomes the fault that belongs to it', async (t) => {
  const { backend, start } = await startBackend(t);
  const player = await start();
  for (const [error, fault] of FAULTS_OF_ERRORS) {
    player.misbehaviours.set('Next', { error });
    player.misbehaviours.set('Set', { error });
    const next = await backend.handle({ do: 'next', player: busNameOf('scripted') });
    assert.equal(faultOf(next), fault, error);
    // Each error of the scripted player has the text `not today` (scripted-player.ts).
    assert.ok(!next.ok && next.error.detail.includes('not today'), error);
    const shuffle = await backend.handle({ do: 'shuffle', player: busNameOf('scripted'), shuffle: true });
    assert.equal(faultOf(shuffle), fault, error);
  }
});

test('a command becomes the call of its row, and a player whose `CanControl` is false gets none of these calls', async (t) => {
  const { backend, recorder, start } = await startBackend(t);
  const track = metadata({ 'mpris:trackid': new Variant('o', '/t/1') });
  const player = await start('scripted', { Metadata: track });
  const target = { player: busNameOf('scripted') };
  const rows = [
    [{ do: 'play', ...target }, 'Play'],
    [{ do: 'pause', ...target }, 'Pause'],
    [{ do: 'play_pause', ...target }, 'PlayPause'],
    [{ do: 'stop', ...target }, 'Stop'],
    [{ do: 'next', ...target }, 'Next'],
    [{ do: 'previous', ...target }, 'Previous'],
    [{ do: 'seek', ...target, offset: -5 }, 'Seek -5'],
    [{ do: 'position', ...target, position: 7 }, 'SetPosition /t/1 7'],
    [{ do: 'position', ...target, position: 8, track_id: '/t/1' }, 'SetPosition /t/1 8'],
    [{ do: 'volume', ...target, volume: 1 }, 'Set Volume 1'],
    [{ do: 'loop', ...target, loop: 'Playlist' }, 'Set LoopStatus Playlist'],
    [{ do: 'shuffle', ...target, shuffle: false }, 'Set Shuffle false'],
  ] as const;
  for (const [command, call] of rows) {
    assert.deepEqual(await backend.handle(command), { ok: true, value: {} }, call);
    assert.ok(player.calls.includes(call), call);
  }

  const callCountBefore = player.calls.length;
  player.change({ CanControl: new Variant('b', false) });
  await recorder.until('can_control is false', 'scripted', (record) => !record.capabilities.can_control);
  for (const [command, call] of rows) assert.equal(faultOf(await backend.handle(command)), 'not-able', call);
  // The backend calls GetAll before a refusal, to read the player again (fresh-facts.test.ts).
  const newCommands = player.calls.slice(callCountBefore).filter((call) => !call.startsWith('GetAll'));
  assert.deepEqual(newCommands, []);
});

test('the command play_pause does not pause a player that cannot pause', async (t) => {
  const { backend, recorder, start } = await startBackend(t);
  const player = await start('scripted', { CanPause: new Variant('b', false) });
  const target = { player: busNameOf('scripted') };
  // The player is paused, so this command makes it play.
  assert.equal(faultOf(await backend.handle({ do: 'play_pause', ...target })), 'none');
  player.change({ PlaybackStatus: new Variant('s', 'Playing') });
  await recorder.until('the player plays', 'scripted', ({ playback_status: status }) => status === 'Playing');

  // The reply to an earlier reading may still come, and then the backend believes that the player does not
  // play. So the pause is requested until it is refused.
  const faultOfPause = async () => faultOf(await backend.handle({ do: 'play_pause', ...target }));
  await until('the pause is refused', async () => (await faultOfPause()) === 'not-able');
});

test('a command does not count among the commands under way after it has thrown', async (t) => {
  const { backend, start } = await startBackend(t);
  await start('scripted');
  const target = { player: busNameOf('scripted') };
  // The gateway lets no such command through. Here the command stands for a defect that throws.
  const broken = { do: 'nonsense', ...target } as unknown as PlayersCommand;
  for (let attempt = 0; attempt <= COMMANDS_MAX; attempt += 1) await assert.rejects(backend.handle(broken));
  assert.deepEqual(await backend.handle({ do: 'play', ...target }), { ok: true, value: {} });
});

test('metadata with a title of 1 MB and a cover of 10 MB is published with a short title and without the image', async (t) => {
  const { backend, recorder, start } = await startBackend(t);
  const title = `T${'\u{1f3b5}'.repeat(250_000)}`;
  const cover = `data:image/png;base64,${'A'.repeat(10_000_000)}`;
  const large = metadata({ 'xesam:title': title, 'mpris:artUrl': cover });
  const player = await start('large', { Metadata: large });
  const { metadata: texts = {} } = await recorder.until('the player is published', 'large', () => true);
  assert.equal(texts['mpris:artUrl'], 'data:image/png;base64,');
  // A text has at most 4096 UTF-16 units (`VALUE_MAX_UNITS` in metadata.ts). Each character after `T` takes
  // two units.
  assert.equal(texts['xesam:title']?.length, 4095, 'the cut is not inside a character');

  player.change({ Volume: new Variant('d', 0.6) });
  await recorder.until('the change is published', 'large', ({ volume }) => volume === 0.6);
  // The bytes of this cover are all zero, so they are no image.
  assert.equal(faultOf(await backend.handle({ do: 'cover', player: busNameOf('large') })), 'no-cover');
});

/** This bus has one player, and closes the connection when the backend reads the player. */
const DYING_BUS: Script = {
  call: (socket, { serial, text: request }) => {
    if (request.includes('GetAll')) socket.destroy();
    else if (request.includes('ListNames')) socket.write(reply(serial, 'as', [busNameOf('one')]));
    else if (request.includes('GetNameOwner')) socket.write(reply(serial, 's', ':1.2'));
    else socket.write(reply(serial));
  },
};

test('the backend is not up on a bus that ends while players are read', async (t) => {
  // The second connection gets no greeting, so the backend does not come up on it.
  const bus = await scriptedBus(
    (connection) => (connection === 1 ? DYING_BUS : { greet: () => undefined }),
    t,
  );
  const recorder = new PlayersRecorder();
  const backend = new PlayersBackend(recorder, systemClock, { paths: bus.paths, backoffMs: () => 20 });
  t.after(() => backend.stop());
  await until('the backend connects again', () => bus.connections() === 2);
  assert.deepEqual(recorder.published, ['connecting: the bus closed the connection']);
  assert.equal(faultOf(await backend.handle({ do: 'play', player: busNameOf('one') })), 'unavailable');
});
