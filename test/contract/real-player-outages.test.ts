// Real players start, end, freeze and share a bus (docs/players.md, "What is shown"): the records stay true, and nobody else waits.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { PlayerRecord } from '../../src/protocol/actor/schemas.js';
import { Mpv } from '../players/mpv.js';
import { PLAYER_PROGRAMS, PlayersNode } from '../players/node.js';
import { Session, TONES } from '../players/session.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';

const skip = lacks({ programs: PLAYER_PROGRAMS });

const MPV = 'org.mpris.MediaPlayer2.mpv';
const [first, second] = TONES as [(typeof TONES)[0], (typeof TONES)[0]];

/** Until mpv has opened the file, its title is the file's name. */
const plays =
  (title: string) =>
  ({ metadata }: PlayerRecord): boolean =>
    metadata?.['xesam:title'] === title;

/** Everything but the position: mpv reports it once more when its sound begins, which is late on a busy machine. */
const stateOf = ({ position: _at, position_updated_at: _since, ...state }: PlayerRecord): object => state;

describe('two mpv on one bus', { skip }, () => {
  let node: PlayersNode;
  let one: Mpv;
  let other: Mpv;

  const start = (title: string, name: string): Promise<Mpv> =>
    Mpv.start(node.session, [node.session.tone(title)], name);
  const names = async (): Promise<readonly string[]> =>
    (await node.players()).map(({ bus_name }) => bus_name).sort();
  const isPaused = async (mpv: Mpv): Promise<boolean> => (await mpv.get('pause')) === true;

  before(async () => {
    const session = await Session.start();
    node = await PlayersNode.start(session);
    one = await start(first.title, 'one');
    other = await start(second.title, 'other');
  });
  after(async () => {
    await one.program.end();
    await other.program.end();
    await node.stop();
  });

  test('are two players, each with its own tone, pid and commands', async () => {
    const plain = await node.player(MPV, `playing ${first.title}`, plays(first.title));
    const instance = await node.player(other.instanceName, `playing ${second.title}`, plays(second.title));
    assert.deepEqual(await names(), [MPV, other.instanceName]);
    assert.deepEqual([plain.pid, instance.pid], [one.program.pid, other.program.pid]);
    await node.change(`mpv.instance${other.program.pid}`, 'pause');
    await until('the other mpv is paused', () => isPaused(other));
    assert.equal(await isPaused(one), false);
    await node.player(other.instanceName, 'paused', (player) => player.playback_status === 'Paused');
    assert.equal((await node.player(MPV)).playback_status, 'Playing');
  });

  test('one of which hangs: it is shown as it was, its commands are 504, and the other does not wait', async () => {
    const before = await node.player(MPV);
    one.program.signal('SIGSTOP');
    let frozenAnswered = false;
    const frozen = node.daemon.post('/players/mpv/pause').finally(() => {
      frozenAnswered = true;
    });
    await node.change(other.instanceName, 'play');
    await until('the other mpv plays', async () => !(await isPaused(other)));
    await node.player(other.instanceName, 'playing', (player) => player.playback_status === 'Playing');
    assert.deepEqual(stateOf(await node.player(MPV)), stateOf(before));
    assert.equal(frozenAnswered, false, 'all that came while the frozen one was still waited for');
    assert.equal((await frozen).status, 504);
    await node.daemon.backend('players', 'up');
    one.program.signal('SIGCONT');
    // mpv now receives the command that was sent before it froze.
    await node.player(MPV, 'paused', (player) => player.playback_status === 'Paused');
    await node.change('mpv', 'play');
    await until('the mpv plays', async () => !(await isPaused(one)));
    await node.player(MPV, 'playing', (player) => player.playback_status === 'Playing');
    await node.streamTellsTheTruth();
  });

  test('one of which is killed: it is gone, and back with its state when it is started again', async () => {
    await one.program.end('SIGKILL');
    await until('the mpv is not listed', async () => (await names()).join() === other.instanceName);
    await node.stream.until(({ model }) => !model.players.has(MPV), 'the removal');
    assert.deepEqual(node.stream.dataOf('player.removed'), [{ bus_name: MPV }]);
    assert.equal((await node.daemon.post('/players/mpv/play')).status, 404);
    one = await start(second.title, 'one');
    const player = await node.player(MPV, `playing ${second.title}`, plays(second.title));
    assert.deepEqual([player.pid, player.playback_status], [one.program.pid, 'Playing']);
    await node.streamTellsTheTruth();
  });

  test('whose bus ends: both are removed, and shown with their state when they return', async () => {
    await node.session.restartBus(async () => {
      await node.stream.until(({ model }) => model.players.size === 0, 'removals');
      assert.equal((await node.daemon.get('/players')).status, 503);
      await until('both mpv have ended with the bus', () => !one.program.alive() && !other.program.alive());
    });
    await node.daemon.backend('players', 'up');
    assert.deepEqual(await node.players(), []);
    one = await start(first.title, 'one');
    await one.command('set_property', 'pause', true);
    await node.player(MPV, 'paused', (player) => player.playback_status === 'Paused');
    assert.deepEqual(await names(), [MPV]);
    await node.change('mpv', 'play');
    await until('the mpv plays', async () => !(await isPaused(one)));
    await node.streamTellsTheTruth();
  });
});
