// Players that announce little, and what only stands for players (docs/players.md), on real ones: Mopidy, MPD
// with mpDris2, playerctld.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MOPIDY, type Mopidy, startMopidy } from '../players/mopidy.js';
import { MPD, startMpd } from '../players/mpd.js';
import { type PlayersNode, reckoned, startPlayersNode } from '../players/node.js';
import { type Session, startSession } from '../players/session.js';
import { writeTone } from '../players/tones.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';

const SESSION_PROGRAMS = ['pulseaudio', 'pactl', 'dbus-daemon'];
const SECOND_US = 1_000_000;
/** mpc prints whole seconds, and a reading takes its time on a busy machine. */
const AWAY_US = 1.5 * SECOND_US;

const ROUND = { title: 'Round', artist: 'Sinus', album: 'Short', seconds: 8 };

/** A file that is played again and again. */
function shortTone(session: Session): string {
  const file = session.tone(ROUND.title);
  writeTone(file, ROUND);
  return file;
}

/**
 * Waits for the second round, and then until the record has the position there. `place`: where the player is,
 * in microseconds.
 */
async function followsSecondRound(
  node: PlayersNode,
  name: string,
  place: () => Promise<number>,
): Promise<void> {
  const half = (ROUND.seconds / 2) * SECOND_US;
  await until('the first round is nearly over', async () => (await place()) > half);
  await until('the second round has begun', async () => (await place()) < half);
  await until('the record is in the second round', async () => {
    const real = await place();
    const published = reckoned(await node.player(name), Date.now());
    return real < half && Math.abs(published - real) < AWAY_US;
  });
}

const forMopidy = lacks({
  programs: [...SESSION_PROGRAMS, 'mopidy'],
  packages: { 'mopidy-mpris': '/usr/lib/python3/dist-packages/mopidy_mpris/__init__.py' },
});
describe('Mopidy, which announces nothing of its list', { skip: forMopidy }, () => {
  let node: PlayersNode;
  let mopidy: Mopidy;

  before(async () => {
    const session = await startSession();
    mopidy = await startMopidy(session);
    node = await startPlayersNode(session);
    await node.player(MOPIDY);
  });
  after(() => node?.stop());

  const state = () => mopidy.call('playback.get_state');

  test('cannot play while its list is empty', async () => {
    const { capabilities } = await node.player(MOPIDY);
    assert.deepEqual([capabilities.can_play, capabilities.can_go_next], [false, false]);
    const refused = await node.daemon.post('/players/mopidy/play');
    assert.equal(refused.status, 403);
    assert.match(refused.text, /can_play is false/);
  });

  test('plays at the first command after its list was filled, and the record and the stream follow', async () => {
    await mopidy.add(node.session.tones);
    await node.change('mopidy', 'play');
    const { capabilities } = await node.player(MOPIDY);
    assert.deepEqual([capabilities.can_play, capabilities.can_go_next], [true, true]);
    await until('Mopidy plays', async () => (await state()) === 'playing');
    await node.streamAgrees();
  });

  test('is followed into the second round of one track', async () => {
    await mopidy.call('tracklist.clear');
    await mopidy.add([shortTone(node.session)]);
    await mopidy.call('tracklist.set_repeat', { value: true });
    await mopidy.call('tracklist.set_single', { value: true });
    await mopidy.call('playback.play');
    const place = async () => Number(await mopidy.call('playback.get_time_position')) * 1000;
    await until('the short track plays', async () => (await state()) === 'playing');
    await followsSecondRound(node, MOPIDY, place);
  });
});

const forMpd = lacks({ programs: [...SESSION_PROGRAMS, 'mpd', 'mpc', 'mpDris2', 'playerctld'] });
describe('MPD with mpDris2, beside playerctld', { skip: forMpd }, () => {
  let node: PlayersNode;
  let mpd: Awaited<ReturnType<typeof startMpd>>;

  before(async () => {
    const session = await startSession();
    shortTone(session);
    session.run('playerctld', ['daemon']);
    mpd = await startMpd(session);
    node = await startPlayersNode(session);
    await node.player(MPD);
  });
  after(() => node?.stop());

  test('is followed into the second round of one track', async () => {
    for (const words of [['add', `${ROUND.title}.wav`], ['repeat', 'on'], ['single', 'on'], ['play']])
      await mpd.mpc(...words);
    const place = async (): Promise<number> => {
      const [, minutes = '', seconds = ''] =
        /(\d+):(\d\d)/.exec(await mpd.mpc('status', '%currenttime%')) ?? [];
      return (Number(minutes) * 60 + Number(seconds)) * SECOND_US;
    };
    await node.player(MPD, 'playing', ({ playback_status }) => playback_status === 'Playing');
    await followsSecondRound(node, MPD, place);
  });

  test('is one player, though playerctld repeats it', async () => {
    assert.deepEqual(
      (await node.players()).map(({ bus_name }) => bus_name),
      [MPD],
    );
  });

  test('is gone when it has gone, though playerctld still says that it plays', async () => {
    await mpd.bridge.end();
    await until('no player is listed', async () => (await node.players()).length === 0);
    const added = node.stream.dataOf('player.added') as { readonly data: { readonly bus_name: string } }[];
    assert.deepEqual([...new Set(added.map(({ data }) => data.bus_name))], [MPD]);
  });
});
