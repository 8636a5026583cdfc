// A connection that serves the branch of a node, on a scripted broker: when it publishes, and what it does
// with unexpected messages. It carries out only commands for its own node, and empties no topics of others.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ACKNOWLEDGED } from '../../../src/actors/mqtt/acknowledgement.js';
import type { BrokerConnection, BrokerMessage, BrokerOptions } from '../../../src/actors/mqtt/broker.js';
import { ROUND_GAP_MS } from '../../../src/actors/mqtt/serving.js';
import { failed } from '../../../src/protocol/actor/result.js';
import { type NodeOptions, output, put, simulatedNode } from '../../broker/simulated-node.js';
import { Deferred } from '../../deferred.js';
import { ManualClock } from '../../manual-clock.js';
import { until } from '../../until.js';

const T = 'house/living';

/** A broker that acknowledges everything, and delivers messages when the test says so. */
class ScriptedBroker {
  readonly published: string[] = [];
  /** The topics and filters that the bridge has subscribed to. */
  readonly filters: string[] = [];
  /** Retained messages, sent when the bridge subscribes. */
  retainedMessages: readonly BrokerMessage[] = [];
  /** A subscription to this topic is refused. */
  refusedFilter = '';
  /** Called before a message is acknowledged. */
  onPublished: (topic: string, text: string) => void = () => undefined;
  #deliver: BrokerOptions['onMessage'] = () => undefined;

  readonly dial = ({ onMessage }: BrokerOptions): BrokerConnection => {
    this.#deliver = onMessage;
    const ended = new Deferred<string>();
    return {
      ready: Promise.resolve(true),
      ended: ended.promise,
      inFlightMax: 16,
      subscribe: async (filters) => {
        this.filters.push(...filters);
        for (const message of this.retainedMessages) onMessage(message);
        if (!filters.includes(this.refusedFilter)) return ACKNOWLEDGED;
        return failed({ kind: 'refused', topics: [this.refusedFilter], reason: 'Not authorized' });
      },
      unsubscribe: async () => ACKNOWLEDGED,
      publish: async (topic, text) => {
        this.published.push(topic);
        // The bridge is subscribed to its own question.
        if (topic.endsWith('/who')) onMessage({ topic, text, retained: false });
        await new Promise(setImmediate);
        this.onPublished(topic, text);
        return ACKNOWLEDGED;
      },
      accepts: () => true,
      end: async (reason) => ended.resolve(reason),
      cut: (reason) => ended.resolve(reason),
    };
  };

  deliver(topic: string, text: string, retained = false, response?: BrokerMessage['response']): void {
    this.#deliver({ topic, text, retained, ...(response !== undefined && { response }) });
  }
}

const nodeOn = (t: TestContext, { dial }: ScriptedBroker, more: Partial<NodeOptions> = {}) =>
  simulatedNode(t, { url: 'mqtt://127.0.0.1', dial, settings: { topic: T }, ...more });

async function startServing(t: TestContext, broker: ScriptedBroker, more: Partial<NodeOptions> = {}) {
  const node = nodeOn(t, broker, more);
  await node.up();
  return node;
}

test('a topic that changes all the time is published at most once per interval, and its last value at the end', async (t) => {
  const clock = new ManualClock();
  const broker = new ScriptedBroker();
  const published: [at: number, volume: number][] = [];
  broker.onPublished = (topic, text) => {
    if (topic.endsWith('/kitchen')) published.push([clock.monotonic(), JSON.parse(text).volume]);
  };
  const node = await startServing(t, broker, { clock });
  for (let now = 0; now <= 2000; now += 10) {
    if (now <= 1000)
      node.publishRecords(put('audio.outputs', '2', output(2, 'kitchen', { volume: now / 1000 })));
    clock.advance(10);
    for (let turns = 0; turns < 4; turns += 1) await new Promise(setImmediate);
  }
  const gaps = published.slice(1).map(([at], i) => at - (published[i]?.[0] ?? 0));
  assert.ok(Math.min(...gaps) >= ROUND_GAP_MS, String(gaps));
  assert.ok(published.length > 8);
  assert.equal(published.at(-1)?.[1], 1);
  assert.equal(clock.timers, 1, 'at rest only state that nobody announces is waited for');
});

/** A valid command: as soon as it is carried out, all earlier messages have been handled. */
const FENCE = [`${T}/audio/server/set`, '{"muted":true}'] as const;

const OTHERS =
  'house/attic_/audio/server/set house/attic_/power/set house/living-room/audio/server/set ' +
  'house/livin/audio/server/set HOUSE/LIVING/audio/server/set audio/server/set /audio/server/set';
const BELOW =
  '/ /set /audio/server /audio/server/set/ /audio/server/loud/set /audio/set /server/set ' +
  '/status/set /backends/set /services/mpd.service/set /services/user/mpd.service/start/set ' +
  '/players/set //power/set /../attic/power/set';
const OWN = BELOW.split(' ').map((below) => `${T}${below}`);
const NOT_OURS = ['', T, `x${T}/power/set`, ...OTHERS.split(' '), ...OWN];

test('a message on a topic that is no command of this node does nothing', async (t) => {
  const broker = new ScriptedBroker();
  const node = await startServing(t, broker);
  for (const topic of NOT_OURS)
    for (const payload of ['reboot', 'start', '{"volume":1}']) broker.deliver(topic, payload);
  broker.deliver(...FENCE);
  await until('the command behind them is carried out', () => node.commands.length > 0);
  assert.deepEqual(node.commands, [['muteServer', { muted: true }]]);
  assert.ok(!broker.published.includes(`${T}/error`));
  assert.equal(node.state, 'up');
});

const retainedMessage = (topic: string): BrokerMessage => ({ topic, text: '{}', retained: true });

test('retained topics of others are not emptied, however the broker delivers them', async (t) => {
  const broker = new ScriptedBroker();
  broker.retainedMessages = ['house/attic_/audio/outputs/gone', `${T}/audio/outputs/gone`].map(
    retainedMessage,
  );
  await startServing(t, broker);
  await until('the topic of this node is emptied', () =>
    broker.published.includes(`${T}/audio/outputs/gone`),
  );
  const strays = broker.published.filter((topic) => topic.startsWith('house/attic_'));
  assert.deepEqual(strays, []);
});

test('a branch with more topics than a node can have is not taken over, even if all of them arrive at once', async (t) => {
  const broker = new ScriptedBroker();
  broker.retainedMessages = Array.from({ length: 10_001 }, (_, i) => retainedMessage(`${T}/x/${i}`));
  const node = nodeOn(t, broker);
  await node.connecting(/the branch holds more than a node publishes/);
  assert.deepEqual(broker.published, []);
});

const DEEP = '['.repeat(16_000);

test('deeply nested JSON, retained or as a command, ends neither the connection nor the bridge', async (t) => {
  const broker = new ScriptedBroker();
  const device = 'homeassistant/device/tonearm_0123456789abcdef/config';
  const text = `{"components":{"a":{"platform":"x","y":${DEEP}${']'.repeat(16_000)}}}}`;
  broker.retainedMessages = [{ topic: device, text, retained: true }];
  const node = await startServing(t, broker);
  assert.ok(broker.published.includes(device), 'it is overwritten');
  const payload = `{"volume":${DEEP}${']'.repeat(16_000)}}`;
  for (const [topic] of [FENCE, [`${T}/players/mpv/set`]]) broker.deliver(topic, payload);
  broker.deliver(...FENCE);
  await until('all three commands are carried out', () => node.commands.length === 3);
  const operations = new Set(node.commands.map(([what]) => what));
  assert.deepEqual(operations, new Set(['setServerVolume', 'setPlayerVolume mpv', 'muteServer']));
});

test('a refusal goes to no response topic that has wildcards or control characters', async (t) => {
  const broker = new ScriptedBroker();
  await startServing(t, broker);
  const wrong = ['', 'a/+', '#', 'a\0', 'a\nb'];
  for (const topic of [...wrong, 'answers'])
    broker.deliver(`${T}/power/set`, 'REBOOT', false, { topic, correlation: Buffer.from('1') });
  await until('the last one is answered', () => broker.published.includes('answers'));
  assert.deepEqual(
    wrong.filter((topic) => broker.published.includes(topic)),
    [],
  );
});

test('a status that others overwrite, as the will of a lost connection does, is published again', async (t) => {
  const broker = new ScriptedBroker();
  await startServing(t, broker);
  assert.ok(broker.filters.includes(`${T}/status`));
  const times = () => broker.published.filter((topic) => topic === `${T}/status`).length;
  for (const retained of [false, true]) {
    const before = times();
    broker.deliver(`${T}/status`, 'offline', retained);
    await until('the status is published again', () => times() === before + 1);
  }
});

test('a bridge that is stopped while it reads the files of its first attempt dials no broker', async (t) => {
  const broker = new ScriptedBroker();
  const node = nodeOn(t, broker);
  await node.stop();
  assert.deepEqual(broker.filters, []);
});

test('a refused subscription to the status of another branch is reported only while this branch owns the device', async (t) => {
  const broker = new ScriptedBroker();
  broker.refusedFilter = 'house/clone/status';
  const node = await startServing(t, broker);
  const device = 'homeassistant/device/tonearm_0123456789abcdef/config';
  const publishedBy = (branch: string): string =>
    JSON.stringify({ components: { x: { availability: [{ topic: `${branch}/status` }] } } });
  broker.deliver(device, publishedBy('house/clone'));
  await until('the refusal is named', () => node.reason.includes('house/clone/status'));
  assert.match(node.reason, /refused by the broker \(Not authorized\), so left out: house\/clone\/status/);
  broker.deliver(device, publishedBy(T));
  await until('nothing is left out', () => node.state === 'up' && node.reason === '');
});

test('a refused subscription is requested again every ten minutes, because the access list may have changed', async (t) => {
  const broker = new ScriptedBroker();
  const status = 'house/clone/status';
  broker.refusedFilter = status;
  const clock = new ManualClock();
  const node = await startServing(t, broker, { clock });
  const device = { components: { x: { availability: [{ topic: status }] } } };
  broker.deliver('homeassistant/device/tonearm_0123456789abcdef/config', JSON.stringify(device));
  const isNamed = (): boolean => {
    clock.advance(ROUND_GAP_MS);
    return node.reason.includes(`left out: ${status}`);
  };
  await until('the refusal is named', isNamed);
  broker.refusedFilter = '';
  clock.advance(600_000);
  await until('the refusal is not named any more', () => !isNamed());
  assert.equal(broker.filters.filter((filter) => filter === status).length, 2);
});
