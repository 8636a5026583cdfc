// The built daemon on a real sound server and a real broker (docs/home-assistant.md, "Topics"): pactl shows
// the effect of commands, and the daemon is killed and ended. Then a scripted broker sends commands without
// end, which no real broker does: clients are still served, and memory stays bounded. The tests in
// test/actors/mqtt have all topics, commands, refusals, strange names and rates.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  commandsOfAllKinds,
  LARGE_COMMANDS_BY_KIND,
  startFloodingBroker,
} from '../broker/flooding-broker.js';
import { type Broker, startBroker } from '../broker/mosquitto.js';
import { type Spy, startSpy } from '../broker/spy.js';
import type { SoundServer } from '../sound/server.js';
import { startPulseAudio } from '../sound/servers.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { AUDIO_ONLY, type Output, startAudio } from './audio-node.js';
import { Daemon, NO_BACKENDS } from './daemon.js';

/** The first level is empty, as in many houses. The topics of driven/broker-rows.ts have no empty level. */
const TOPIC = '/house/living';
const OUTPUTS = `${TOPIC}/audio/outputs`;
const skip = skipReason({ programs: ['pulseaudio', 'pactl', 'mosquitto'] });

test('a name that another node has published is made printable in health and log', { skip }, async (t) => {
  const broker = await startBroker();
  t.after(() => broker.stop());
  const spy = await startSpy(broker.url, 'house/taken/who');
  t.after(() => spy.end());
  // The characters are ESC, CSI and the right-to-left override, which change what a terminal displays.
  await spy.publish('house/taken/node', 'strange\u001b[31m\u009b\u202enode', { retain: true });
  await spy.publish('house/taken/status', 'online', { retain: true });
  const config = `${NO_BACKENDS}mqtt: {enabled: true, url: "${broker.url}", topic: house/taken}\n`;
  const daemon = await Daemon.start({ config }, t);
  await until('the daemon asks whether the node that owns the topic is alive', () => spy.received.length > 0);
  // This message is the owner's answer. It is not retained, so it shows that the owner is alive.
  await spy.publish('house/taken/status', 'online');
  await daemon.untilBackend('mqtt', 'connecting', /strange/);
  const { detail = '' } = (await daemon.health()).backends['mqtt'] ?? {};
  assert.match(detail, /strange\\u\{1b\}\[31m\\u\{9b\}\\u\{202e\}node/);
  assert.match(daemon.log, /strange/);
  // The log is JSON, which has `\u001b` for an escape character that was not made printable.
  for (const text of ['\u001b', '\u009b', '\u202e', '\\u001b'])
    assert.ok(!daemon.log.includes(text), JSON.stringify(text));
});

describe('a daemon on a sound server with a broker', { skip }, () => {
  let broker: Broker;
  let sound: SoundServer;
  let daemon: Daemon;
  let spy: Spy;
  before(async () => {
    broker = await startBroker();
    sound = await startPulseAudio();
    const config = `${AUDIO_ONLY}mqtt: {enabled: true, url: "${broker.url}", topic: ${TOPIC}}\n`;
    daemon = await Daemon.start({ env: sound.env, config });
    spy = await startSpy(broker.url);
    await daemon.untilBackend('mqtt', 'up');
  });
  after(async () => {
    await spy?.end();
    await daemon?.stop();
    await sound?.stop();
    await broker?.stop();
  });

  test('a command on a topic has its effect in the sound server', async () => {
    const untilRead = (what: string, read: () => Promise<string>, fits: RegExp) =>
      until(what, async () => {
        assert.match(await read(), fits, `refused: ${spy.texts(`${TOPIC}/error`).join()}`);
        return true;
      });
    const readVolume = () => sound.pactl('get-sink-volume', 'living');
    const readMute = () => sound.pactl('get-sink-mute', 'living');
    await spy.publish(`${OUTPUTS}/living/set`, { volume: 0.5, muted: true, balance: -0.5 });
    await untilRead('volume and balance', readVolume, /50%.*balance -0\.50/s);
    await untilRead('the mute', readMute, /yes/);
    await spy.publish(`${TOPIC}/audio/server/set`, { muted: false, delta: -0.2 });
    await untilRead('the step down', readVolume, /30%/);
    await untilRead('the end of the mute', readMute, /no/);
    await spy.publish(`${OUTPUTS}/living/volume/set`, ' 45% ');
    await untilRead('the volume that is no JSON', readVolume, /45%/);
    for (const [word, expectedMute] of [
      ['ON', /yes/],
      ['toggle', /no/],
      ['toggle', /yes/],
      ['OFF', /no/],
    ] as const) {
      await spy.publish(`${TOPIC}/audio/server/mute/set`, word);
      await untilRead(`the word ${word}`, readMute, expectedMute);
    }
    await spy.publish(`${TOPIC}/audio/server/set`, { output: 'kitchen' });
    await untilRead('the default output', () => sound.pactl('get-default-sink'), /kitchen/);
  });

  test('the will of a killed daemon says that it is offline, and after its restart the topic of a removed output is empty', async () => {
    await sound.addSink('cellar');
    await spy.untilText(`${OUTPUTS}/cellar`);
    daemon.signal('SIGKILL');
    await spy.untilText(`${TOPIC}/status`, (text) => text === 'offline');
    await sound.removeSink('cellar');
    await daemon.restart();
    await spy.untilText(`${TOPIC}/status`, (text) => text === 'online');
    await spy.untilEmpty(`${OUTPUTS}/cellar`);
  });

  test('a daemon that ends publishes by itself that it is offline, and the broker publishes no will', async () => {
    const logStart = broker.log().length;
    const logSince = (): string => broker.log().slice(logStart);
    daemon.signal('SIGTERM');
    await spy.untilText(`${TOPIC}/status`, (text) => text === 'offline');
    // The words are those with which mosquitto logs the end of a connection.
    await until('the connection has ended', () => /Client tonearm\S* (disconnected|closed)/.test(logSince()));
    assert.match(logSince(), /Received PUBLISH from tonearm\S* \(.*'\/house\/living\/status'/);
    // mosquitto does not log that it publishes a will. After a DISCONNECT it publishes none.
    assert.match(logSince(), /Received DISCONNECT from tonearm/);
  });
});

const MESSAGES = 150_000;
const REQUESTS = 100;
/**
 * Memory for messages that are being processed, and for garbage that V8 has not collected yet. If the daemon
 * kept every message, they would need 500 MB.
 */
const GROWTH_MAX_MB = 160;

test('a daemon serves its clients with bounded memory during a flood of commands from the broker', {
  skip,
}, async (t) => {
  const broker = await startFloodingBroker(commandsOfAllKinds(TOPIC));
  t.after(() => broker.stop());
  const config = `${AUDIO_ONLY}mqtt: {enabled: true, url: "${broker.url}", topic: ${TOPIC}}\n`;
  const { daemon } = await startAudio(t, { config });
  await daemon.untilBackend('mqtt', 'up');
  const stream = await daemon.events('?types=audio.output.updated');
  const memoryBeforeMb = daemon.memoryMb;
  let memoryMaxMb = 0;
  broker.flood();
  await until('a tenth of the flood is sent', () => broker.sent > MESSAGES / 10);
  for (let count = 0; count < REQUESTS; count += 1) {
    assert.equal((await daemon.get('/audio')).status, 200);
    assert.equal((await daemon.post('/audio/outputs/kitchen/mute', { muted: count % 2 === 0 })).status, 202);
    memoryMaxMb = Math.max(memoryMaxMb, daemon.memoryMb);
  }
  await until('the flood is sent', () => {
    memoryMaxMb = Math.max(memoryMaxMb, daemon.memoryMb);
    return broker.sent > MESSAGES;
  });
  broker.calm();
  t.diagnostic(`${broker.sent} messages; ${memoryBeforeMb} MB, at most ${memoryMaxMb} MB`);
  const growthMb = memoryMaxMb - memoryBeforeMb;
  assert.ok(growthMb < GROWTH_MAX_MB, `${memoryBeforeMb} MB have become ${memoryMaxMb} MB`);
  assert.equal(stream.ended, false);
  await daemon.post('/audio/outputs/kitchen/volume', { volume: 0.33 });
  const isChanged = ({ volume }: Output): boolean => volume === 0.33;
  await stream.until(({ model }) => [...model.known.outputs.values()].some(isChanged), 'the last change');
  const { backends } = await daemon.health();
  assert.deepEqual([backends['mqtt']?.restarts, backends['audio']?.restarts], [0, 0]);
});

/** More than twice the 256 commands that may wait. */
const LARGE_MESSAGES = 600;

for (const [what, commandsTo] of Object.entries(LARGE_COMMANDS_BY_KIND)) {
  test(`the bridge's thread survives a flood of commands with a large ${what}, and is connected afterwards`, {
    skip,
  }, async (t) => {
    const broker = await startFloodingBroker(commandsTo(TOPIC));
    t.after(() => broker.stop());
    const config = `${AUDIO_ONLY}mqtt: {enabled: true, url: "${broker.url}", topic: ${TOPIC}}\n`;
    const { daemon } = await startAudio(t, { config });
    await daemon.untilBackend('mqtt', 'up');
    broker.flood();
    await until('the flood is sent', () => broker.sent > LARGE_MESSAGES);
    broker.calm();
    await daemon.untilBackend('mqtt', 'up');
    const { restarts } = (await daemon.health()).backends['mqtt'] ?? {};
    assert.equal(restarts, 0, daemon.log);
  });
}
