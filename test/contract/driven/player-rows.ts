// Rows of the table (row.ts) about players, which are scripted and on a real bus. network-rows.ts has the
// rows about covers from the web.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { Variant } from 'dbus-next';
import type { PlayerRecord, TracklistRecord } from '../../../src/protocol/actor/schemas.js';
import { ROOT_INTERFACE, TRACKLIST_INTERFACE } from '../../../src/protocol/dbus/mpris.js';
import { metadata, type Properties, ScriptedPlayer } from '../../actors/players/scripted-player.js';
import { COVER } from '../../players/tones.js';
import { until } from '../../until.js';
import { assertCalled, flagVariant, type House, textVariant } from './house.js';
import type { Row } from './row.js';

const TRACK = '/t/1';
const JUMP_US = 30_000_000;
const PLAYER_PROPERTIES: Properties = {
  Metadata: metadata({ 'mpris:trackid': new Variant('o', TRACK), 'xesam:title': 'Song' }),
  LoopStatus: textVariant('None'),
  Shuffle: flagVariant(false),
};

/** Runs `use` while there is a player called `one`, which has a tracklist. */
async function withPlayer(
  { userBus, ending, house }: House,
  use: (player: ScriptedPlayer) => Promise<void>,
): Promise<void> {
  const player = await ScriptedPlayer.connect(ending, userBus);
  Object.assign(player.properties['org.mpris.MediaPlayer2.Player'] ?? {}, PLAYER_PROPERTIES);
  Object.assign(player.properties[ROOT_INTERFACE] ?? {}, {
    SupportedUriSchemes: new Variant('as', ['http']),
  });
  player.properties[TRACKLIST_INTERFACE] = {
    Tracks: new Variant('ao', [TRACK]),
    CanEditTracks: flagVariant(true),
  };
  await player.requestName('one');
  try {
    await house.untilRead<readonly PlayerRecord[]>(
      '/players',
      ([first]) => first?.tracklist_supported === true,
    );
    await use(player);
  } finally {
    player.leave();
    await house.untilRead<readonly PlayerRecord[]>('/players', ({ length }) => length === 0);
  }
}

/** The commands without a body, and the D-Bus method that each calls. */
const METHOD_BY_COMMAND = {
  play: 'Play',
  pause: 'Pause',
  play_pause: 'PlayPause',
  stop: 'Stop',
  next: 'Next',
  previous: 'Previous',
};

const COMMANDS_WITH_BODY: readonly (readonly [command: string, body: object, call: string])[] = [
  ['seek', { offset: 5 }, 'Seek 5'],
  ['position', { position: 7 }, `SetPosition ${TRACK} 7`],
  ['volume', { volume: 0.25 }, 'Set Volume 0.25'],
  ['loop', { loop: 'Track' }, 'Set LoopStatus Track'],
  ['shuffle', { shuffle: true }, 'Set Shuffle true'],
];

export const PLAYER_ROWS: readonly Row<House>[] = [
  {
    drives: ['key players.enabled', 'operation players', 'event player.added', 'event player.removed'],
    title: 'a player is published, and events announce that it comes and goes',
    run: async (node) => {
      await withPlayer(node, async () => {
        const [player] = await node.house.read<readonly PlayerRecord[]>('/players');
        assert.equal(player?.metadata?.['xesam:title'], 'Song');
        // `Scripted` is the identity that scripted-player.ts gives to each player.
        await node.house.untilEvent('player.added', (data) => data.includes('"Scripted"'));
      });
      await node.house.untilEvent('player.removed', (data) => data.includes('MediaPlayer2.one'));
      // The configuration of `bare` (house.ts) does not have this key, whose default is false.
      assert.equal(await node.bare.statusOf('/players'), 404);
    },
  },
  {
    drives: ['key players.ignore'],
    title: 'a player of players.ignore is in no list, and its commands are 404',
    run: async (node) => {
      // The configuration of `house` (house.ts) ignores the players `unseen*`.
      const unseen = await ScriptedPlayer.start(node.ending, node.userBus, 'unseen.instance1');
      await withPlayer(node, async () => {
        const players = await node.house.read<readonly PlayerRecord[]>('/players');
        assert.deepEqual(
          players.map(({ bus_name: name }) => name),
          ['org.mpris.MediaPlayer2.one'],
        );
        const { status } = await node.house.send('POST', '/players/unseen.instance1/play');
        assert.equal(status, 404);
      });
      unseen.leave();
    },
  },
  {
    drives: [
      'operation play',
      'operation pause',
      'operation playPause',
      'operation stop',
      'operation next',
      'operation previous',
    ],
    title: 'the commands without a body reach the player',
    run: (node) =>
      withPlayer(node, async (player) => {
        for (const [command, method] of Object.entries(METHOD_BY_COMMAND)) {
          await node.house.post(`/players/one/${command}`);
          assertCalled(player, method);
        }
      }),
  },
  {
    drives: ['operation pausePlayers'],
    title: 'POST /players/pause pauses a player that plays',
    run: (node) =>
      withPlayer(node, async (player) => {
        player.change({ PlaybackStatus: textVariant('Playing') });
        await node.house.post('/players/pause');
        assertCalled(player, 'Pause');
      }),
  },
  {
    drives: ['key players.exclusive'],
    title: 'with players.exclusive a player that begins to play pauses the others',
    // The configuration of `plain` (house.ts) has players.exclusive: true.
    run: async ({ plain, userBus, ending }) => {
      const players = await Promise.all(
        ['first', 'second'].map((name) => ScriptedPlayer.start(ending, userBus, name)),
      );
      const arePlaying = (count: number) => (records: readonly PlayerRecord[]) =>
        records.filter(({ playback_status: status }) => status === 'Playing').length === count;
      await plain.untilRead<readonly PlayerRecord[]>('/players', ({ length }) => length === 2);
      // A scripted player records the call of Pause, but does not obey. So in the end both are `Playing`.
      for (const [index, player] of players.entries()) {
        player.change({ PlaybackStatus: textVariant('Playing') });
        await plain.untilRead('/players', arePlaying(index + 1));
      }
      const [first, second] = players;
      await until('the first player is paused', () => first?.calls.includes('Pause'));
      assert.ok(!second?.calls.includes('Pause'), second?.calls.join());
      for (const player of players) player.leave();
    },
  },
  {
    drives: [
      'operation seek',
      'operation setPosition',
      'operation setPlayerVolume',
      'operation setLoop',
      'operation setShuffle',
    ],
    title: 'the commands with a body reach the player',
    run: (node) =>
      withPlayer(node, async (player) => {
        for (const [command, body, call] of COMMANDS_WITH_BODY) {
          await node.house.post(`/players/one/${command}`, body);
          assertCalled(player, call);
        }
      }),
  },
  {
    drives: ['event player.updated', 'event player.position'],
    title: 'a change and a jump of the player are events',
    run: (node) =>
      withPlayer(node, async (player) => {
        player.change({ Shuffle: flagVariant(true) });
        await node.house.untilEvent('player.updated', (data) => data.includes('"shuffle":true'));
        // A player announces a jump only by the signal `Seeked`. `player.change` is not used, because it
        // would also announce the new position as a change of a property.
        player.properties['org.mpris.MediaPlayer2.Player'] = {
          ...player.properties['org.mpris.MediaPlayer2.Player'],
          Position: new Variant('x', BigInt(JUMP_US)),
        };
        player.announceSeek(JUMP_US);
        await node.house.untilEvent('player.position', (data) => data.includes(`"position":${JUMP_US}`));
      }),
  },
  {
    drives: [
      'operation tracklist',
      'operation gotoTrack',
      'operation removeTrack',
      'operation addTrack',
      'event player.tracklist.updated',
    ],
    title: 'a tracklist is published and commanded, and its change is an event',
    run: (node) =>
      withPlayer(node, async (player) => {
        const { house } = node;
        const { tracks } = await house.read<TracklistRecord>('/players/one/tracklist');
        assert.deepEqual(
          tracks.map(({ track_id: id }) => id),
          [TRACK],
        );
        // In these paths, `1` is not a number in the list, but the last segment of `TRACK`.
        await house.post('/players/one/tracklist/goto/1');
        assertCalled(player, `GoTo ${TRACK}`);
        await house.post('/players/one/tracklist/add', { uri: 'http://radio/' });
        assertCalled(player, `AddTrack http://radio/ ${TRACK} false`);
        await house.post('/players/one/tracklist/remove/1');
        assertCalled(player, `RemoveTrack ${TRACK}`);
        const longer = { Tracks: new Variant('ao', [TRACK, '/t/2']), CanEditTracks: flagVariant(true) };
        player.properties[TRACKLIST_INTERFACE] = longer;
        player.emit(TRACKLIST_INTERFACE, 'TrackListReplaced', 'aoo', [[TRACK, '/t/2'], TRACK]);
        await house.untilEvent('player.tracklist.updated', (data) => data.includes('"/t/2"'));
      }),
  },
  {
    drives: ['operation cover'],
    title: 'a cover that is a file is answered as an image',
    run: (node) =>
      withPlayer(node, async (player) => {
        const file = node.path('cover.png');
        writeFileSync(file, COVER);
        player.change({ Metadata: metadata({ 'mpris:artUrl': `file://${file}`, 'xesam:title': 'Cover' }) });
        await node.house.untilEvent('player.updated', (data) => data.includes('"Cover"'));
        const { status, headers } = await node.house.send('GET', '/players/one/cover');
        assert.deepEqual([status, headers['content-type']], [200, 'image/png']);
      }),
  },
];
