// Tests how the MQTT bridge serves the branch of its node on one connection: when the bridge publishes, and
// what it does with unexpected messages. The bridge carries out only commands for its own node, and removes
// no retained messages of other nodes. Most tests use a scripted broker.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ACKNOWLEDGED } from '../../../src/actors/mqtt/acknowledgement.js';
import {
  type BrokerConnection,
  type BrokerMessage,
  type BrokerOptions,
  MqttConnection,
} from '../../../src/actors/mqtt/broker.js';
import { QUIET_MS } from '../../../src/actors/mqtt/probe.js';
import { ROUND_GAP_MS } from '../../../src/actors/mqtt/serving.js';
import { systemClock } from '../../../src/host/clock.js';
import { failed } from '../../../src/protocol/actor/result.js';
import { commandsOfAllKinds, startFloodingBroker } from '../../broker/flooding-broker.js';
import {
  drop,
  health,
  type NodeOptions,
  ordinary,
  output,
  put,
  SERVER,
  simulatedNode,
} from '../../broker/simulated-node.js';
import { Deferred } from '../../deferred.js';
import { ManualClock } from '../../manual-clock.js';
import { until } from '../../until.js';

const BRANCH = 'house/living';
/** The topic of the device message, which describes the node to Home Assistant (device-topic.ts). */
const DEVICE_TOPIC = 'homeassistant/device/tonearm_0123456789abcdef/config';

/**
 * A broker that acknowledges everything except a subscription to `refusedFilter`. The bridge receives three
 * kinds of messages from this broker: `retainedMessages`, the messages that a test passes to `deliver`, and
 * the bridge's own questions at a topic `who` (probe.ts).
 */
class ScriptedBroker {
  /** The topics of all published messages, in order. */
  readonly published: string[] = [];
  /** The topics and filters of all subscriptions that the bridge has requested, even of refused ones. */
  readonly requestedFilters: string[] = [];
  /** The broker sends these messages at each subscription, whatever its topics are. */
  retainedMessages: readonly BrokerMessage[] = [];
  /** The broker refuses a subscription to this topic; '' if it refuses none. */
  refusedFilter = '';
  /** The broker calls this before it acknowledges a message of the bridge. */
  onPublished: (topic: string, text: string) => void = () => undefined;
  #onMessage: BrokerOptions['onMessage'] = () => undefined;
  /** Tells the bridge that the broker has answered a ping. */
  pong: BrokerOptions['onPong'] = () => undefined;

  readonly dial = ({ onMessage, onPong }: BrokerOptions): BrokerConnection => {
    this.#onMessage = onMessage;
    this.pong = onPong;
    const ended = new Deferred<string>();
    return {
      ready: Promise.resolve(true),
      ended: ended.promise,
      inFlightMax: 16,
      subscribe: async (filters) => {
        this.requestedFilters.push(...filters);
        for (const message of this.retainedMessages) onMessage(message);
        if (!filters.includes(this.refusedFilter)) return ACKNOWLEDGED;
        return failed({ kind: 'refused', topics: [this.refusedFilter], reason: 'Not authorized' });
      },
      unsubscribe: async () => ACKNOWLEDGED,
      publish: async (topic, text) => {
        this.published.push(topic);
        // The bridge waits until its own question comes back (probe.ts).
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

  deliver(topic: string, text: string, more: Omit<Partial<BrokerMessage>, 'topic' | 'text'> = {}): void {
    this.#onMessage({ topic, text, retained: false, ...more });
  }
}

const nodeOn = (t: TestContext, { dial }: ScriptedBroker, more: Partial<NodeOptions> = {}) =>
  simulatedNode(t, { url: 'mqtt://127.0.0.1', dial, settings: { topic: BRANCH }, ...more });

async function startServing(t: TestContext, broker: ScriptedBroker, more: Partial<NodeOptions> = {}) {
  const node = nodeOn(t, broker, more);
  const { clock } = more;
  await until('the node is up', () => {
    // The bridge waits `QUIET_MS` for late retained messages before it serves its branch (probe.ts).
    if (clock instanceof ManualClock) clock.advance(QUIET_MS);
    return node.state === 'up';
  });
  return node;
}

test('a topic that changes all the time is published at most once per `ROUND_GAP_MS`, and its last value is published, too', async (t) => {
  const clock = new ManualClock();
  const broker = new ScriptedBroker();
  const published: { atMs: number; volume: number }[] = [];
  broker.onPublished = (topic, text) => {
    if (topic.endsWith('/kitchen'))
      published.push({ atMs: clock.monotonic(), volume: JSON.parse(text).volume });
  };
  const node = await startServing(t, broker, { clock });
  // The volume changes for one second, and then stays the same for one second.
  for (let nowMs = 0; nowMs <= 2000; nowMs += 10) {
    if (nowMs <= 1000)
      node.publishRecords(put('audio.outputs', '2', output(2, 'kitchen', { volume: nowMs / 1000 })));
    clock.advance(10);
    // The scripted broker acknowledges a message one turn later, so the bridge needs more than one turn.
    for (let turn = 0; turn < 4; turn += 1) await new Promise(setImmediate);
  }

  const gapsMs = published.slice(1).map((later, index) => {
    const earlier = published[index];
    return later.atMs - (earlier?.atMs ?? 0);
  });
  assert.ok(Math.min(...gapsMs) >= ROUND_GAP_MS, String(gapsMs));
  // The volume changes for one second, which has nine intervals of 110 ms (`ROUND_GAP_MS`).
  assert.ok(published.length > 8, `published ${published.length} times`);
  assert.equal(published.at(-1)?.volume, 1);
  assert.equal(clock.timers, 1, 'at rest the only timer is `poll` of bridge.ts');
});

/** A valid command. When it is carried out, all earlier messages have been handled. */
const LAST_COMMAND = [`${BRANCH}/audio/server/set`, '{"muted":true}'] as const;

/**
 * `house/attic_` and `HOUSE/LIVING` have as many characters as this node's branch. So the topics that begin
 * with them would become commands if the bridge only cut off that many characters.
 */
const TOPICS_OUTSIDE_BRANCH =
  'house/attic_/audio/server/set house/attic_/power/set house/living-room/audio/server/set ' +
  'house/livin/audio/server/set HOUSE/LIVING/audio/server/set audio/server/set /audio/server/set';
const ENDINGS_WITHOUT_COMMAND =
  '/ /set /audio/server /audio/server/set/ /audio/server/loud/set /audio/set /server/set ' +
  '/status/set /backends/set /services/mpd.service/set /services/user/mpd.service/start/set ' +
  '/players/set //power/set /../attic/power/set';
const TOPICS_IN_BRANCH = ENDINGS_WITHOUT_COMMAND.split(' ').map((ending) => `${BRANCH}${ending}`);
const TOPICS_WITHOUT_COMMAND = [
  '',
  BRANCH,
  `x${BRANCH}/power/set`,
  ...TOPICS_OUTSIDE_BRANCH.split(' '),
  ...TOPICS_IN_BRANCH,
];

test('a message causes no command and no error if its topic is no command topic of this node', async (t) => {
  const broker = new ScriptedBroker();
  const node = await startServing(t, broker);
  for (const topic of TOPICS_WITHOUT_COMMAND)
    for (const payload of ['reboot', 'start', '{"volume":1}']) broker.deliver(topic, payload);

  broker.deliver(...LAST_COMMAND);
  await until('the last command is carried out', () => node.commands.length > 0);
  assert.deepEqual(node.commands, [['muteServer', { muted: true }]]);
  assert.ok(!broker.published.includes(`${BRANCH}/error`));
  assert.equal(node.state, 'up');
});

test('with `mqtt.control: false` the bridge carries out no command, even if the broker sends one without a subscription', async (t) => {
  const broker = new ScriptedBroker();
  const node = await startServing(t, broker, { settings: { topic: BRANCH, control: false } });
  broker.deliver(...LAST_COMMAND);

  const countBefore = broker.published.length;
  // Another node asks whether this node is alive. The broker delivers this question after the command.
  broker.deliver(`${BRANCH}/who`, 'attic');
  await until('the question is answered', () =>
    broker.published.slice(countBefore).includes(`${BRANCH}/status`),
  );
  assert.deepEqual(node.commands, []);
});

const retainedMessage = (topic: string): BrokerMessage => ({ topic, text: '{}', retained: true });

test('the bridge removes no retained message of another branch, even if the broker sends one without a subscription', async (t) => {
  const broker = new ScriptedBroker();
  broker.retainedMessages = ['house/attic_/audio/outputs/gone', `${BRANCH}/audio/outputs/gone`].map(
    retainedMessage,
  );
  await startServing(t, broker);
  await until('the outdated message of this node is removed', () =>
    broker.published.includes(`${BRANCH}/audio/outputs/gone`),
  );
  const publishedToOthers = broker.published.filter((topic) => topic.startsWith('house/attic_'));
  assert.deepEqual(publishedToOthers, []);
});

/** This is more than `TOPICS_MAX` of probe.ts. */
const TOO_MANY_TOPICS = 10_001;

test('the bridge does not serve a branch with more topics than a node can have, even if all retained messages arrive at once', async (t) => {
  const broker = new ScriptedBroker();
  broker.retainedMessages = Array.from({ length: TOO_MANY_TOPICS }, (_, index) =>
    retainedMessage(`${BRANCH}/x/${index}`),
  );
  const node = nodeOn(t, broker);
  await node.connecting(/the branch holds more than a node publishes/);
  assert.deepEqual(broker.published, []);
});

test('the bridge does not serve a branch whose topics and texts together are longer than those of a node can be', async (t) => {
  const broker = new ScriptedBroker();
  // The bound is 16 Mi characters (`CHARS_MAX` in probe.ts).
  broker.retainedMessages = Array.from({ length: 300 }, (_, index) =>
    retainedMessage(`${BRANCH}/${'x'.repeat(60_000)}/${index}`),
  );
  const node = nodeOn(t, broker);
  await node.connecting(/the branch holds more than a node publishes/);
  assert.deepEqual(broker.published, []);
});

const DEEP_LIST = `${'['.repeat(16_000)}${']'.repeat(16_000)}`;

test('deeply nested JSON, retained or as a command, ends neither the connection nor the bridge', async (t) => {
  const broker = new ScriptedBroker();
  const text = `{"components":{"a":{"platform":"x","y":${DEEP_LIST}}}}`;
  broker.retainedMessages = [{ topic: DEVICE_TOPIC, text, retained: true }];
  const node = await startServing(t, broker);
  assert.ok(broker.published.includes(DEVICE_TOPIC), 'the device message is overwritten');
  // The bridge checks no values (commands.ts). It requests the operations, which a real gateway would refuse.
  const payload = `{"volume":${DEEP_LIST}}`;
  for (const topic of [`${BRANCH}/audio/server/set`, `${BRANCH}/players/mpv/set`])
    broker.deliver(topic, payload);
  broker.deliver(...LAST_COMMAND);
  await until('all three commands are carried out', () => node.commands.length === 3);
  const operations = new Set(node.commands.map(([operation]) => operation));
  assert.deepEqual(operations, new Set(['setServerVolume', 'setPlayerVolume mpv', 'muteServer']));
});

test('no refusal is published at a response topic that is empty, or has wildcards or control characters', async (t) => {
  const broker = new ScriptedBroker();
  await startServing(t, broker);
  const powerTopic = `${BRANCH}/power/set`;
  const invalidTopics = ['', 'a/+', '#', 'a\0', 'a\nb'];
  // The bridge accepts the word `reboot` at this topic, and refuses `REBOOT`.
  for (const topic of [...invalidTopics, 'answers'])
    broker.deliver(powerTopic, 'REBOOT', { response: { topic, correlation: Buffer.from('1') } });
  await until('the last command is answered', () => broker.published.includes('answers'));
  assert.deepEqual(
    invalidTopics.filter((topic) => broker.published.includes(topic)),
    [],
  );
});

test('the status is published again if another client, or the will of a lost connection, has overwritten it', async (t) => {
  const broker = new ScriptedBroker();
  await startServing(t, broker);
  assert.ok(broker.requestedFilters.includes(`${BRANCH}/status`));
  const statusCount = () => broker.published.filter((topic) => topic === `${BRANCH}/status`).length;
  // `retained` is true for an `offline` that was published before the bridge subscribed.
  for (const retained of [false, true]) {
    const countBefore = statusCount();
    broker.deliver(`${BRANCH}/status`, 'offline', { retained });
    await until('the status is published again', () => statusCount() === countBefore + 1);
  }
});

test('if a bridge is stopped while it prepares its first connection, it dials no broker', async (t) => {
  const broker = new ScriptedBroker();
  const node = nodeOn(t, broker);
  await node.stop();
  // The bridge subscribes as soon as the broker is dialled.
  assert.deepEqual(broker.requestedFilters, []);
});

test('a refused subscription to the status of another node is reported only while that node owns the device message', async (t) => {
  const broker = new ScriptedBroker();
  broker.refusedFilter = 'house/clone/status';
  const node = await startServing(t, broker);
  const deviceMessageOf = (branch: string): string =>
    JSON.stringify({ components: { x: { availability: [{ topic: `${branch}/status` }] } } });
  broker.deliver(DEVICE_TOPIC, deviceMessageOf('house/clone'));
  await until('the refused topic is reported', () => node.reason.includes('house/clone/status'));
  assert.match(node.reason, /refused by the broker \(Not authorized\), so left out: house\/clone\/status/);

  broker.deliver(DEVICE_TOPIC, deviceMessageOf(BRANCH));
  await until('nothing is left out', () => node.state === 'up' && node.reason === '');
});

test('a refused subscription is requested again every ten minutes, because the access list of the broker may have changed', async (t) => {
  const broker = new ScriptedBroker();
  const statusTopic = 'house/clone/status';
  broker.refusedFilter = statusTopic;
  const clock = new ManualClock();
  const node = await startServing(t, broker, { clock });
  const device = { components: { x: { availability: [{ topic: statusTopic }] } } };
  broker.deliver(DEVICE_TOPIC, JSON.stringify(device));
  /**
   * The bridge publishes in rounds, with a pause between them (serving.ts). `reason` changes only at the end
   * of a round, so the clock skips the pause.
   */
  const isReportedAfterNextRound = (): boolean => {
    clock.advance(ROUND_GAP_MS);
    return node.reason.includes(`left out: ${statusTopic}`);
  };
  await until('the refused topic is reported', isReportedAfterNextRound);

  broker.refusedFilter = '';
  clock.advance(600_000);
  await until('the topic is no longer reported', () => !isReportedAfterNextRound());
  assert.equal(broker.requestedFilters.filter((filter) => filter === statusTopic).length, 2);
});

/** The node answers the operation `server` with values from the object `server`, which the test changes. */
async function startChangingNode(t: TestContext) {
  const broker = new ScriptedBroker();
  const server = { hostname: SERVER.hostname, bluetooth: false };
  let publishedText = '';
  broker.onPublished = (topic, text) => {
    if (topic === `${BRANCH}/server`) publishedText = text;
  };
  const node = await startServing(t, broker, {
    hostname: () => server.hostname,
    answer: (request) => {
      if (request.operation !== 'server') return ordinary(request);
      const { hostname, bluetooth } = server;
      const body = { ...SERVER, hostname, backends: { ...SERVER.backends, bluetooth } };
      return { status: 200, body: JSON.stringify(body) };
    },
  });
  const untilPublished = (what: string, part: string) => until(what, () => publishedText.includes(part));
  await untilPublished('the first text is published', '"bluetooth":false');
  const requestCount = (): number => node.requests.filter(({ operation }) => operation === 'server').length;
  return { broker, node, server, untilPublished, requestCount };
}

test('the bridge requests the text of the topic `server` at once when a backend is enabled or disabled, and not at other changes', async (t) => {
  const { node, server, untilPublished, requestCount } = await startChangingNode(t);
  server.bluetooth = true;
  node.publishRecords(health('bluetooth', 'connecting'));
  await untilPublished('bluetooth is enabled', '"bluetooth":true');
  const countBefore = requestCount();
  node.publishRecords(health('bluetooth', 'up'));
  node.publishRecords(put('audio.outputs', '2', output(2, 'kitchen', { volume: 0.1 })));
  assert.equal(requestCount(), countBefore);
  server.bluetooth = false;
  node.publishRecords(drop('backends', 'bluetooth'));
  await untilPublished('bluetooth is disabled', '"bluetooth":false');
});

test('a changed hostname is published at the topic `server` after the next change of a record, or after the next answer to a ping', async (t) => {
  const { broker, node, server, untilPublished, requestCount } = await startChangingNode(t);
  server.hostname = 'kitchen';
  node.publishRecords(put('audio.outputs', '2', output(2, 'kitchen', { volume: 0.1 })));
  await untilPublished('the new hostname is published', '"hostname":"kitchen"');
  server.hostname = 'garden';
  broker.pong();
  await untilPublished('the newest hostname is published', '"hostname":"garden"');
  const countBefore = requestCount();
  // The hostname is the same as at the last answer to a ping, so the text is not requested again.
  broker.pong();
  assert.equal(requestCount(), countBefore);
});

test('a connection reports that the broker has answered a ping', async (t) => {
  // This broker requires a ping each second. It sends the commands only if `flood` is called.
  const broker = await startFloodingBroker(commandsOfAllKinds(BRANCH), { serverKeepAlive: 1 });
  t.after(() => broker.stop());
  let pongs = 0;
  const connection = new MqttConnection({
    url: broker.url,
    clientId: 'pinging',
    clock: systemClock,
    onMessage: () => undefined,
    onPong: () => {
      pongs += 1;
    },
  });
  assert.equal(await connection.ready, true);
  await until('the ping of the first second is answered', () => pongs > 0);
  await connection.end('the test is over');
});
