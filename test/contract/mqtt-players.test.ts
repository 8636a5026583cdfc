// Media players by MQTT (docs/home-assistant.md, "Commands"), on a real mpv and a real broker: the effect of each command in the player,
// and the record that is published.

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
const SECOND_US = 1_000_000;
/** mpv rounds a position to its frames. */
const NEAR_S = 1;
const skip = lacks({ programs: ['mosquitto', ...PLAYER_PROGRAMS] });

type Shown = (player: PlayerRecord) => boolean;
const status =
  (expected: string): Shown =>
  ({ playback_status }) =>
    playback_status === expected;
const title =
  (index: number): Shown =>
  ({ metadata }) =>
    metadata?.['xesam:title'] === TONES[index]?.title;
const at =
  (seconds: number): Shown =>
  ({ position = Number.NaN }) =>
    Math.abs(position / SECOND_US - seconds) < NEAR_S;

/** A command, the property of mpv that it sets, read from mpv's own socket, and the record then; in order, from the first tone on. */
const COMMANDS: readonly (readonly [command: string | object, property: string, value: unknown, Shown])[] = [
  ['pause', 'pause', true, status('Paused')],
  ['play', 'pause', false, status('Playing')],
  ['play_pause', 'pause', true, status('Paused')],
  [{ position: 20 * SECOND_US }, 'time-pos', 20, at(20)],
  [{ offset: 15 * SECOND_US }, 'time-pos', 35, at(35)],
  [{ volume: 0.4 }, 'volume', 40, ({ volume }) => volume === 0.4],
  [{ loop: 'Playlist' }, 'loop-playlist', 'inf', ({ loop_status }) => loop_status === 'Playlist'],
  ['next', 'playlist-pos', 1, title(1)],
  ['previous', 'playlist-pos', 0, title(0)],
  ['stop', 'idle-active', true, status('Stopped')],
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
      await until(`mpv's ${property} is ${value}`, async () => {
        const is = await mpv.get(property);
        return typeof value === 'number' && typeof is === 'number'
          ? Math.abs(is - value) < NEAR_S
          : is === value;
      });
      await spy.holds(MPV, (text) => shown(JSON.parse(text)));
    });
  }

  test('that ends has an empty topic', async () => {
    await mpv.program.end();
    await spy.empty(MPV);
  });
});
