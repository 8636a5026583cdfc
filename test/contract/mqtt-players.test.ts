// Media players by MQTT (docs/home-assistant.md, "Commands"), on a real mpv and a real broker: the effect of a command in the player, and
// the record that is published.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { PlayerRecord } from '../../src/protocol/actor/schemas.js';
import { type Broker, startBroker } from '../broker/mosquitto.js';
import { Spy } from '../broker/spy.js';
import { Mpv } from '../players/mpv.js';
import { PLAYER_PROGRAMS, PlayersNode } from '../players/node.js';
import { Session, TONES } from '../players/session.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';

const T = 'house/living';
const MPV = `${T}/players/mpv`;
const skip = lacks({ programs: ['mosquitto', ...PLAYER_PROGRAMS] });

type Shown = (player: PlayerRecord) => boolean;
const status =
  (expected: string): Shown =>
  ({ playback_status }) =>
    playback_status === expected;

/** A word and an object, the property of mpv that each sets, and the record then. What every command does: real-players.test.ts. */
const COMMANDS: readonly (readonly [command: string | object, property: string, value: unknown, Shown])[] = [
  ['pause', 'pause', true, status('Paused')],
  [{ volume: 0.4 }, 'volume', 40, ({ volume }) => volume === 0.4],
];

describe('a player of a daemon with a broker', { skip }, () => {
  let broker: Broker;
  let node: PlayersNode;
  let mpv: Mpv;
  let spy: Spy;

  before(async () => {
    broker = await startBroker();
    const mqtt = `mqtt: {enabled: true, url: "${broker.url}", topic: ${T}}\n`;
    node = await PlayersNode.start(await Session.start(), mqtt);
    spy = await Spy.on(broker.url);
    const tones = TONES.map(({ title: name }) => node.session.tone(name));
    mpv = await Mpv.start(node.session, tones);
  });
  after(async () => {
    await spy?.end();
    await mpv?.program.end();
    await node?.stop();
    await broker?.stop();
  });

  test('is published as its route shows it', async () => {
    await spy.holds(MPV, (text) => status('Playing')(JSON.parse(text)));
    await until('the topic equals the route', async () => {
      assert.deepEqual([JSON.parse(await spy.holds(MPV))], await node.players());
      return true;
    });
  });

  for (const [command, property, value, shown] of COMMANDS) {
    test(`obeys ${JSON.stringify(command)}, and its new state is published`, async () => {
      await spy.publish(`${MPV}/set`, command);
      await until(`mpv's ${property} is ${value}`, async () => (await mpv.get(property)) === value);
      await spy.holds(MPV, (text) => shown(JSON.parse(text)));
    });
  }

  test('that ends has an empty topic', async () => {
    await mpv.program.end();
    await spy.empty(MPV);
  });
});
