// Real players as clients see them (docs/http-api.md, "Player"): each field of the record, the effect of each
// command in the player, and the events of the stream.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { PlayerRecord } from '../../src/protocol/actor/schemas.js';
import { type Cmus, startCmus } from '../players/cmus.js';
import { type Mpv, startMpv } from '../players/mpv.js';
import { type PlayersNode, playersAnd, reckoned, startPlayersNode } from '../players/node.js';
import { ALBUM, startSession, TRACKS } from '../players/session.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { hasValues } from './audio-node.js';
import { Daemon } from './daemon.js';

const skip = skipReason(playersAnd());

const MPV = 'org.mpris.MediaPlayer2.mpv';
const CMUS = 'org.mpris.MediaPlayer2.cmus';
const SECOND_US = 1_000_000;
/** Two positions may differ by less than this, because a player reads a sound before it is audible. */
const TOLERANCE_US = SECOND_US;
/** Two numbers of mpv may differ by less than this: a second, a percent of the volume, or a track. */
const PROPERTY_TOLERANCE = 1;

const ALL_CAPABILITIES = {
  can_play: true,
  can_pause: true,
  can_go_next: true,
  can_go_previous: true,
  can_seek: true,
  can_control: true,
};
type Track = (typeof TRACKS)[number];
const [firstTrack, secondTrack] = TRACKS as [Track, Track];

const isNear = (oneUs: number, otherUs: number): boolean => Math.abs(oneUs - otherUs) < TOLERANCE_US;

/**
 * A command, the property of mpv that it changes, the property's new value, and a check of the record.
 * Property and value are those of mpv's own socket.
 */
interface CommandRow {
  readonly command: string;
  readonly body?: object;
  readonly property: string;
  readonly value: unknown;
  readonly isPublished: (player: PlayerRecord) => boolean;
}

type Effect = Pick<CommandRow, 'property' | 'value' | 'isPublished'>;

const positionEffect = (positionS: number): Effect => ({
  property: 'time-pos',
  value: positionS,
  // `NaN` is near no position.
  isPublished: ({ position = Number.NaN }) => isNear(position, positionS * SECOND_US),
});
const pauseEffect = (value: boolean): Effect => ({
  property: 'pause',
  value,
  isPublished: ({ playback_status }) => playback_status === (value ? 'Paused' : 'Playing'),
});
const hasTitle =
  (title: string | undefined) =>
  ({ metadata }: PlayerRecord): boolean =>
    metadata?.['xesam:title'] === title;
const trackEffect = (index: number): Effect => ({
  property: 'playlist-pos',
  value: index,
  isPublished: hasTitle(TRACKS[index]?.title),
});
const loopEffect = (property: string, value: unknown, status: string): Effect => ({
  property,
  value,
  isPublished: ({ loop_status }) => loop_status === status,
});

/**
 * The commands are sent in this order. Before the first one, mpv plays the first track. mpv is paused while
 * positions are compared.
 */
const COMMANDS: readonly CommandRow[] = [
  { command: 'pause', ...pauseEffect(true) },
  { command: 'play', ...pauseEffect(false) },
  { command: 'play_pause', ...pauseEffect(true) },
  { command: 'position', body: { position: 20 * SECOND_US }, ...positionEffect(20) },
  { command: 'seek', body: { offset: 15 * SECOND_US }, ...positionEffect(35) },
  { command: 'seek', body: { offset: -5 * SECOND_US }, ...positionEffect(30) },
  { command: 'position', body: { position: 10 * SECOND_US, track_id: '/0' }, ...positionEffect(10) },
  {
    command: 'volume',
    body: { volume: 0.4 },
    property: 'volume',
    value: 40,
    isPublished: (p) => p.volume === 0.4,
  },
  { command: 'loop', body: { loop: 'Track' }, ...loopEffect('loop-file', 'inf', 'Track') },
  { command: 'loop', body: { loop: 'Playlist' }, ...loopEffect('loop-playlist', 'inf', 'Playlist') },
  { command: 'loop', body: { loop: 'None' }, ...loopEffect('loop-playlist', false, 'None') },
  { command: 'next', ...trackEffect(1) },
  { command: 'previous', ...trackEffect(0) },
  {
    command: 'stop',
    property: 'idle-active',
    value: true,
    isPublished: (p) => p.playback_status === 'Stopped',
  },
];

type CmusRow = readonly [command: string, body: object, line: string, value: string, expected: object];
/**
 * Commands that mpv lacks or carries out differently. After the command, `cmus-remote -Q` prints a line that
 * begins with `line` and ends with `value`, and the record has the values of `expected`.
 */
const CMUS_COMMANDS: readonly CmusRow[] = [
  ['shuffle', { shuffle: true }, 'set shuffle', 'tracks', { shuffle: true }],
  ['shuffle', { shuffle: false }, 'set shuffle', 'off', { shuffle: false }],
  ['loop', { loop: 'Playlist' }, 'set repeat', 'true', { loop_status: 'Playlist' }],
  ['loop', { loop: 'Track' }, 'set repeat_current', 'true', { loop_status: 'Track' }],
  ['loop', { loop: 'None' }, 'set repeat_current', 'false', { loop_status: 'None' }],
  ['volume', { volume: 0.5 }, 'set vol_left', '50', { volume: 0.5 }],
];

describe('mpv', { skip }, () => {
  let node: PlayersNode;
  let mpv: Mpv;

  before(async () => {
    node = await startPlayersNode(await startSession());
    mpv = await startMpv(node.session);
  });
  after(() => node.stop());

  test('mpv is published with every field when it starts, also on the stream', async () => {
    const expected = {
      bus_name: MPV,
      identity: 'mpv',
      playback_status: 'Playing',
      loop_status: 'None',
      volume: 1,
      rate: 1,
      capabilities: ALL_CAPABILITIES,
      tracklist_supported: false,
      pid: mpv.program.pid,
      can_raise: false,
      can_quit: true,
      metadata: {
        'mpris:artUrl': `file://${node.session.cover}`,
        'mpris:length': String(firstTrack.seconds * SECOND_US),
        'mpris:trackid': '/0',
        'xesam:album': ALBUM,
        'xesam:artist': firstTrack.artist,
        'xesam:title': firstTrack.title,
        'xesam:url': encodeURI(`file://${node.session.fileOf(firstTrack.title)}`),
      },
    };
    // mpv sends its properties one after the other, while it opens the file.
    const { position, position_updated_at } = await until('every field is shown', async () => {
      // mpv-mpris reads a property that mpv does not have, so each reading of Shuffle is random.
      const { position, position_updated_at, shuffle, ...otherFields } = await node.player(MPV);
      assert.deepEqual(otherFields, expected);
      assert.equal(typeof shuffle, 'boolean');
      return { position, position_updated_at };
    });
    assert.ok(typeof position === 'number' && Number.isInteger(position));
    assert.match(position_updated_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/);
    await node.stream.until(({ model }) => model.known.players.has(MPV), 'mpv on the stream');
    const added = node.stream.dataOf('player.added') as { data: PlayerRecord; emitted_at: number }[];
    const events = added.map(({ data, emitted_at }) => `${data.bus_name} ${typeof emitted_at}`);
    assert.deepEqual(events, [`${MPV} number`]);
  });

  test('the published position of mpv becomes the real one, although the sink takes up to 2 s of sound at once at the start', async () => {
    const realPosition = async (): Promise<number> => Number(await mpv.get('time-pos')) * SECOND_US;
    // Positions below the tolerance are always near each other, so the test waits until mpv is beyond it.
    await until('mpv plays on', async () => (await realPosition()) > 1.5 * SECOND_US);
    const published = async (): Promise<number> => reckoned(await node.player(MPV), Date.now());
    await until('the published position is the real one', async () =>
      isNear(await published(), await realPosition()),
    );
  });

  test('mpv has the same pid as its stream of sound', async () => {
    await until('the only stream of sound has the pid of mpv', async () => {
      const clients = await node.daemon.read<{ props?: Record<string, string> }[]>('/audio/clients');
      const pids = clients.map(({ props }) => props?.['application.process.id']);
      assert.deepEqual(pids, [String((await node.player(MPV)).pid)]);
      return true;
    });
  });

  test('the record of mpv has the new position after a jump that tonearm did not command', async () => {
    await mpv.command('set_property', 'pause', true);
    await node.player(MPV, 'paused', ({ playback_status }) => playback_status === 'Paused');
    // The pause itself makes tonearm read the position, perhaps only after the first jump. So only the later
    // jumps prove that tonearm notices a jump.
    for (const positionS of [45, 5, 25]) {
      await mpv.command('seek', positionS, 'absolute');
      await node.player(MPV, `at ${positionS} s`, positionEffect(positionS).isPublished);
    }
    await mpv.command('set_property', 'pause', false);
    await node.player(MPV, 'playing', ({ playback_status }) => playback_status === 'Playing');
  });

  for (const [index, { command, body, property, value, isPublished }] of COMMANDS.entries()) {
    test(`mpv obeys ${command} ${JSON.stringify(body ?? {})}`, async () => {
      // The commands use the short and the full name in turn.
      await node.change(index % 2 === 0 ? 'mpv' : MPV, command, body);
      await until(`${property} of mpv is ${value}`, async () => {
        const actual = await mpv.get(property);
        return typeof value === 'number'
          ? Math.abs(Number(actual) - value) < PROPERTY_TOLERANCE
          : actual === value;
      });
      await node.player(MPV, 'published with the change', isPublished);
      await node.streamAgrees();
    });
  }

  test('the changes of mpv were events, and its jumps were events with the new position', async () => {
    const updates = node.stream.dataOf('player.updated') as { data: PlayerRecord; emitted_at: number }[];
    const assertUpdated = (what: string, isExpected: (player: PlayerRecord) => boolean): void =>
      assert.notEqual(updates.filter(({ data }) => isExpected(data)).length, 0, what);
    assertUpdated('the pause', (player) => player.playback_status === 'Paused');
    assertUpdated('the volume', (player) => player.volume === 0.4);
    assertUpdated('the loop', (player) => player.loop_status === 'Track');
    assertUpdated('the next track', hasTitle(secondTrack.title));
    assertUpdated('the end', (player) => player.playback_status === 'Stopped');
    assert.ok(updates.every(({ emitted_at }) => Number.isInteger(emitted_at)));
    type Jump = { bus_name: string; position: number; emitted_at: number };
    const jumps = node.stream.dataOf('player.position').flat() as Jump[];
    // The jump to 45 s is one of the jumps that tonearm did not command. `COMMANDS` has caused the others.
    for (const positionS of [45, 20, 35, 30, 10]) {
      const isReported = jumps.some(({ position }) => isNear(position, positionS * SECOND_US));
      assert.ok(isReported, `the jump to ${positionS} s in ${JSON.stringify(jumps)}`);
    }
    assert.ok(jumps.every(({ bus_name: name }) => name.startsWith(MPV)));
    assert.ok(jumps.every(({ emitted_at: emittedAt }) => Number.isInteger(emittedAt)));
  });

  test('mpv is removed when it ends, also on the stream', async () => {
    await mpv.command('quit');
    await until('mpv is not listed', async () => (await node.players()).length === 0);
    await node.stream.until(({ model }) => model.known.players.size === 0, 'the removal');
    assert.deepEqual(node.stream.dataOf('player.removed').at(-1), { bus_name: MPV });
  });
});

describe('cmus', { skip }, () => {
  let node: PlayersNode;
  let cmus: Cmus;

  before(async () => {
    const session = await startSession();
    cmus = await startCmus(session);
    node = await startPlayersNode(session);
  });
  after(() => node.stop());

  test('cmus is published with every field, although it started before the daemon', async () => {
    const { position, position_updated_at, metadata, ...otherFields } = await node.player(CMUS);
    assert.deepEqual(otherFields, {
      bus_name: CMUS,
      identity: 'cmus',
      playback_status: 'Playing',
      loop_status: 'None',
      shuffle: false,
      volume: 1,
      rate: 1,
      capabilities: ALL_CAPABILITIES,
      tracklist_supported: false,
      pid: cmus.pid,
      can_raise: false,
      can_quit: false,
    });
    assert.equal(metadata?.['xesam:title'], firstTrack.title);
    assert.equal(metadata?.['xesam:artist'], firstTrack.artist);
    assert.equal(metadata?.['mpris:length'], String(firstTrack.seconds * SECOND_US));
    assert.ok(typeof position === 'number');
    assert.ok(Date.parse(position_updated_at) > 0);
    await node.stream.until(({ model }) => model.known.players.has(CMUS), 'cmus on the stream');
    const added = node.stream.dataOf('player.added') as { data: PlayerRecord }[];
    assert.equal(
      added.map(({ data }) => data.bus_name).join(),
      CMUS,
      'the snapshot of the stream has cmus, too',
    );
  });

  for (const [command, body, line, value, expected] of CMUS_COMMANDS) {
    test(`cmus obeys ${command} ${JSON.stringify(body)}`, async () => {
      await node.change('cmus', command, body);
      await until(`${line} of cmus is ${value}`, async () => (await cmus.get(line)) === value);
      await node.player(CMUS, 'published with the change', (player) => hasValues(player, expected));
      await node.streamAgrees();
    });
  }

  test('one command pauses both players, and players.exclusive pauses a player when the other one begins to play', async (t) => {
    const { session, daemon } = node;
    const mpv = await startMpv(session);
    t.after(() => mpv.program.end());
    type Status = 'playing' | 'paused';
    const untilStatus = (expected: { readonly mpv: Status; readonly cmus: Status }): Promise<unknown> =>
      until(`mpv is ${expected.mpv}, and cmus is ${expected.cmus}`, async () => {
        const isMpvPaused = expected.mpv === 'paused';
        return (await mpv.get('pause')) === isMpvPaused && (await cmus.get('status')) === expected.cmus;
      });
    await node.player(MPV, 'playing', ({ playback_status: status }) => status === 'Playing');
    await untilStatus({ mpv: 'playing', cmus: 'playing' });
    assert.equal((await daemon.post('/players/pause')).status, 202);
    await untilStatus({ mpv: 'paused', cmus: 'paused' });
    // A second daemon pauses the other player. The commands still go to the first daemon.
    const config = 'systemd: {enabled: false}\nplayers: {enabled: true, exclusive: true}\n';
    const exclusiveDaemon = await Daemon.start({ env: session.env, config }, t);
    await exclusiveDaemon.untilBackend('players', 'up');
    await node.change('cmus', 'play');
    await untilStatus({ mpv: 'paused', cmus: 'playing' });
    await node.change('mpv', 'play');
    await untilStatus({ mpv: 'playing', cmus: 'paused' });
    await node.change('cmus', 'play');
    await untilStatus({ mpv: 'paused', cmus: 'playing' });
  });
});
