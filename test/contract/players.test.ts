// Media players as clients see them (contract, section 10): records, events, commands and refusals, over a real bus.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Variant } from 'dbus-next';
import type { PlayerRecord } from '../../src/protocol/actor/schemas.js';
import { type PrivateBus, privateBus } from '../actors/bus/private-bus.js';
import { metadata, ScriptedPlayer } from '../actors/players/scripted-player.js';
import { until } from '../until.js';
import { Daemon } from './daemon.js';

const CONFIG = 'mpris: {enabled: true}\npulseaudio: {enabled: false}\nsystemd: {enabled: false}\n';

async function node(t: TestContext): Promise<{ bus: PrivateBus; daemon: Daemon }> {
  const bus = await privateBus(t);
  const daemon = await Daemon.start({ config: CONFIG, env: { DBUS_SESSION_BUS_ADDRESS: bus.address } });
  t.after(() => daemon.stop());
  await daemon.backend('players', 'up');
  return { bus, daemon };
}

function players(daemon: Daemon): Promise<readonly PlayerRecord[]> {
  return daemon.read('/players');
}

test('a player is listed, commanded, and gone when it goes', async (t) => {
  const { bus, daemon } = await node(t);
  const player = await ScriptedPlayer.start(bus.address, 'scripted.instance123', {
    Metadata: metadata({ 'xesam:title': 'One', 'xesam:artist': ['A', 'B'] }),
  });
  const [record] = await until('the player is listed', async () => {
    const all = await players(daemon);
    return all.length > 0 && all;
  });
  assert.deepEqual(record?.metadata, { 'xesam:artist': 'A, B', 'xesam:title': 'One' });
  assert.equal((await daemon.post('/players/scripted.instance123/play')).status, 202);
  assert.equal((await daemon.post('/players/scripted.instance123/volume', { volume: 0.25 })).status, 202);
  assert.ok(player.calls.includes('Play') && player.calls.includes('Set Volume 0.25'));
  player.change({ PlaybackStatus: new Variant('s', 'Playing') });
  await until('it plays', async () => (await players(daemon))[0]?.playback_status === 'Playing');
  player.leave();
  await until('it is gone', async () => (await players(daemon)).length === 0);
});
