// Tests real players that do not announce all their changes (docs/players.md): Mopidy, and MPD with mpDris2.
// playerctld runs beside MPD. It has a player's name on the bus, but only repeats another player.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MOPIDY, type Mopidy, startMopidy } from '../players/mopidy.js';
import { MPD, startMpd } from '../players/mpd.js';
import { type PlayersNode, reckoned, startPlayersNode } from '../players/node.js';
import { type Session, startSession } from '../players/session.js';
import { writeTone } from '../players/tones.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';

const SESSION_PROGRAMS = ['pulseaudio', 'pactl', 'dbus-daemon'];
const SECOND_US = 1_000_000;
/** Positions may differ by this much: mpc prints whole seconds, and reading takes time on a busy machine. */
const TOLERANCE_US = 1.5 * SECOND_US;

const SHORT_TRACK = { title: 'Round', artist: 'Sinus', album: 'Short', seconds: 8 };

/** Writes the file of the short track, which the tests repeat. */
function writeShortTrack(session: Session): string {
  const file = session.fileOf(SHORT_TRACK.title);
  writeTone(file, SHORT_TRACK);
  return file;
}

/**
 * Waits until the track has begun for the second time, and then until the record has the player's position.
 * `realPosition` reads the position in microseconds from the player itself, without tonearm.
 */
async function assertFollowsSecondRound(
  node: PlayersNode,
  name: string,
  realPosition: () => Promise<number>,
): Promise<void> {
  const halfUs = (SHORT_TRACK.seconds / 2) * SECOND_US;
  await until('the first round is in its second half', async () => (await realPosition()) > halfUs);
  await until('the second round has begun', async () => (await realPosition()) < halfUs);
  await until('the record is in the second round', async () => {
    const real = await realPosition();
    const published = reckoned(await node.player(name), Date.now());
    return real < halfUs && Math.abs(published - real) < TOLERANCE_US;
  });
}

const skipMopidy = skipReason({
  programs: [...SESSION_PROGRAMS, 'mopidy'],
  packages: { 'mopidy-mpris': '/usr/lib/python3/dist-packages/mopidy_mpris/__init__.py' },
});
describe('Mopidy, which does not announce changes of its tracklist', { skip: skipMopidy }, () => {
  let node: PlayersNode;
  let mopidy: Mopidy;

  before(async () => {
    const session = await startSession();
    mopidy = await startMopidy(session);
    node = await startPlayersNode(session);
    await node.player(MOPIDY);
  });
  after(() => node?.stop());

  const readState = () => mopidy.call('playback.get_state');

  test('Mopidy cannot play while its tracklist is empty', async () => {
    const { capabilities } = await node.player(MOPIDY);
    assert.deepEqual([capabilities.can_play, capabilities.can_go_next], [false, false]);
    const refused = await node.daemon.post('/players/mopidy/play');
    assert.equal(refused.status, 403);
    assert.match(refused.text, /can_play is false/);
  });

  test('Mopidy plays at the first command after its tracklist was filled, and the event stream agrees with the record', async () => {
    await mopidy.add(node.session.files);
    await node.change('mopidy', 'play');
    const { capabilities } = await node.player(MOPIDY);
    assert.deepEqual([capabilities.can_play, capabilities.can_go_next], [true, true]);
    await until('Mopidy plays', async () => (await readState()) === 'playing');
    await node.streamAgrees();
  });

  test('the position of Mopidy begins again when a repeated track begins again', async () => {
    await mopidy.call('tracklist.clear');
    await mopidy.add([writeShortTrack(node.session)]);
    await mopidy.call('tracklist.set_repeat', { value: true });
    await mopidy.call('tracklist.set_single', { value: true });
    await mopidy.call('playback.play');
    const realPosition = async () => Number(await mopidy.call('playback.get_time_position')) * 1000;
    await until('the short track plays', async () => (await readState()) === 'playing');
    await assertFollowsSecondRound(node, MOPIDY, realPosition);
  });
});

const skipMpd = skipReason({ programs: [...SESSION_PROGRAMS, 'mpd', 'mpc', 'mpDris2', 'playerctld'] });
describe('MPD with mpDris2, beside playerctld', { skip: skipMpd }, () => {
  let node: PlayersNode;
  let mpd: Awaited<ReturnType<typeof startMpd>>;

  before(async () => {
    const session = await startSession();
    writeShortTrack(session);
    session.run('playerctld', ['daemon']);
    mpd = await startMpd(session);
    node = await startPlayersNode(session);
    await node.player(MPD);
  });
  after(() => node?.stop());

  test('the position of MPD begins again when a repeated track begins again', async () => {
    for (const words of [['add', `${SHORT_TRACK.title}.wav`], ['repeat', 'on'], ['single', 'on'], ['play']])
      await mpd.mpc(...words);
    const realPosition = async (): Promise<number> => {
      const [, minutes = '', seconds = ''] =
        /(\d+):(\d\d)/.exec(await mpd.mpc('status', '%currenttime%')) ?? [];
      return (Number(minutes) * 60 + Number(seconds)) * SECOND_US;
    };
    await node.player(MPD, 'playing', ({ playback_status }) => playback_status === 'Playing');
    await assertFollowsSecondRound(node, MPD, realPosition);
  });

  test('MPD is listed as one player, although playerctld repeats it', async () => {
    assert.deepEqual(
      (await node.players()).map(({ bus_name }) => bus_name),
      [MPD],
    );
  });

  test('MPD is removed when it leaves the bus, although playerctld still reports that it plays', async () => {
    // The bridge is mpDris2, which has MPD's name on the bus. MPD itself goes on.
    await mpd.bridge.end();
    await until('no player is listed', async () => (await node.players()).length === 0);
    await node.stream.until(({ model }) => model.known.players.size === 0, 'the removal');
    const added = node.stream.dataOf('player.added') as { readonly data: { readonly bus_name: string } }[];
    // playerctld has never been listed as a player.
    assert.deepEqual([...new Set(added.map(({ data }) => data.bus_name))], [MPD]);
  });
});
