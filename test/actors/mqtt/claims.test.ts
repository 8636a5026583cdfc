// Tests which node owns a branch of topics, and which node owns the device of Home Assistant. The broker is
// real. Two nodes have the same branch or identifier, or the broker retains topics of an earlier run.

import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { type Clock, systemClock } from '../../../src/host/clock.js';
import { type Broker, startBroker } from '../../broker/mosquitto.js';
import { hurrying, type NodeOptions, simulatedNode } from '../../broker/simulated-node.js';
import { retained, type Spy, startSpy } from '../../broker/spy.js';
import { skipReason } from '../../tools/requirements.js';
import { until } from '../../until.js';

/** The pause of bridge.ts after which a node asks again who owns the branch. */
const OCCUPIED_PAUSE_MS = 60_000;
/** A node with this clock soon asks again. */
const ASKS_SOON = hurrying(OCCUPIED_PAUSE_MS);
/** The time of probe.ts for which a node waits for the answer of an owner. */
const ANSWER_MS = 5_000;
/** A node with this clock waits only a moment for the answer. */
const WAITS_BRIEFLY = hurrying(ANSWER_MS);
/** A node with this clock waits for a minute, because on a busy machine the answer may come late. */
const WAITS_LONG: Clock = {
  ...systemClock,
  after: (ms, callback) => systemClock.after(ms === ANSWER_MS ? 60_000 : ms, callback),
};

describe('a topic branch', { skip: skipReason({ programs: ['mosquitto'] }) }, () => {
  let broker: Broker;
  before(async () => {
    broker = await startBroker();
  });
  after(() => broker.stop());

  function nodeOn(t: TestContext, topic: string, identifier: string, options: Partial<NodeOptions> = {}) {
    const settings = { topic, ...options.settings };
    return simulatedNode(t, { url: broker.url, identifier, ...options, settings });
  }

  async function spyOn(t: TestContext, topic: string): Promise<Spy> {
    const spy = await startSpy(broker.url, `${topic}/#`);
    t.after(() => spy.end());
    return spy;
  }

  for (const [who, topic, identifiers, settings, reason] of [
    ['another node', 'house/a', ['first', 'second'], {}, /another node, first: set mqtt\.topic/],
    ['a node that takes no commands', 'house/b', ['first', 'second'], { control: false }, /another node/],
    ['another process', 'house/c', ['same', 'same'], {}, /another tonearm on this machine/],
  ] as const) {
    test(`is taken over from ${who} only when that owner has ended, and until then the second node publishes only its question`, async (t) => {
      const first = nodeOn(t, topic, identifiers[0], { settings });
      await first.up();
      const spy = await spyOn(t, topic);
      const second = nodeOn(t, topic, identifiers[1], { clock: ASKS_SOON });
      await second.connecting(reason);
      const questionCount = () => spy.texts(`${topic}/who`).length;
      const countBefore = questionCount();
      await until('the second node has asked two more times', () => questionCount() > countBefore + 1);

      const published = spy.received
        .filter((message) => !message.retained)
        .map((message) => `${message.topic} ${message.text}`);
      const isQuestionOrAnswer = (line: string) =>
        line.startsWith(`${topic}/who `) || line === `${topic}/status online`;
      assert.ok(published.every(isQuestionOrAnswer), `more than questions and answers: ${published}`);
      assert.equal(second.statuses.length, 1, 'the second node has reported its reason once');
      const states = first.statuses.map(({ state }) => state);
      assert.deepEqual(states, ['up']);
      const retainedQuestion = await retained(broker.url, `${topic}/who`);
      assert.ok(!retainedQuestion.has(`${topic}/who`), 'no question is retained');

      await first.stop();
      await second.up();
      const tree = await retained(broker.url, `${topic}/+`);
      assert.equal(tree.get(`${topic}/node`), identifiers[1]);
      assert.equal(tree.get(`${topic}/status`), 'online');
    });
  }

  test('has an owner that answers each question, even if the broker retains an old question', async (t) => {
    const topic = 'house/asked';
    const spy = await spyOn(t, topic);
    await spy.publish(`${topic}/who`, 'long ago', { retain: true });
    await nodeOn(t, topic, 'first').up();
    const statusCount = () => spy.texts(`${topic}/status`).length;
    await until('the node is online', () => statusCount() === 1);

    for (const expectedCount of [2, 3]) {
      await spy.publish(`${topic}/who`, '');
      await until('the question is answered', () => statusCount() === expectedCount);
    }
    assert.deepEqual(new Set(spy.texts(`${topic}/status`)), new Set(['online']));
  });

  for (const [what, identifier] of Object.entries({
    'another node': 'other',
    'an earlier run of this node': 'me',
  })) {
    test(`is taken over from ${what} that gives no answer`, async (t) => {
      const topic = `house/${identifier}`;
      const spy = await spyOn(t, topic);
      await spy.publish(`${topic}/node`, identifier, { retain: true });
      await spy.publish(`${topic}/status`, 'online', { retain: true });
      await nodeOn(t, topic, 'me', { clock: WAITS_BRIEFLY }).up();
      await spy.untilText(`${topic}/node`, (text) => text === 'me');
      assert.deepEqual(spy.texts(`${topic}/who`), ['me']);
      await spy.untilText(`${topic}/audio/outputs/alsa`);
    });
  }

  for (const [what, hasStopped] of [
    ['has stopped', true],
    ['has lost its power', false],
  ] as const) {
    test(`is taken over from a node that ${what}, and the device of that node is removed only then`, async (t) => {
      const prefix = hasStopped ? 'ended' : 'cut';
      const topic = `house/${prefix}-device`;
      const spy = await spyOn(t, prefix);
      const branchSpy = await spyOn(t, topic);
      const deviceOf = (identifier: string) => `${prefix}/device/tonearm_${identifier}/config`;
      const former = '00000000000000aa';
      const present = '00000000000000bb';
      const settings = { homeAssistantPrefix: prefix };
      const first = nodeOn(t, topic, former, { settings });
      await first.up();
      const device = await spy.untilText(deviceOf(former));

      const second = nodeOn(t, topic, present, { settings, clock: hasStopped ? ASKS_SOON : WAITS_LONG });
      await second.connecting(/another node, 00000000000000aa/);
      assert.equal((await retained(broker.url, deviceOf(former))).get(deviceOf(former)), device);
      // Stops the first node. Returns the node that takes over: the second, or a third after a power cut.
      const takeOver = async () => {
        if (hasStopped) {
          await first.stop();
          return second;
        }
        // After a power cut the status of the dead node is still `online`.
        await second.stop();
        await first.stop();
        await branchSpy.publish(`${topic}/status`, 'online', { retain: true });
        return nodeOn(t, topic, present, { settings, clock: WAITS_BRIEFLY });
      };
      const newOwner = await takeOver();
      await newOwner.up();
      await spy.untilText(deviceOf(present));
      assert.deepEqual(spy.texts(deviceOf(former)), [device, '']);
      const lastTopics = spy.received.slice(-2).map((message) => message.topic);
      assert.deepEqual(lastTopics, [deviceOf(former), deviceOf(present)]);
      assert.deepEqual(
        [...(await retained(broker.url, `${prefix}/#`)).keys()],
        [deviceOf(present)],
        'the broker retains only the device of the present node',
      );
      assert.equal(newOwner.reason, '');
    });
  }

  test('is taken over from a node that has moved to another branch, and the device of that node stays', async (t) => {
    const topic = 'house/moved';
    const former = '00000000000000cc';
    const device = `moved/device/tonearm_${former}/config`;
    const spy = await spyOn(t, 'moved');
    await spy.publish(`${topic}/node`, former, { retain: true });
    // The device belongs to the branch `house/elsewhere`.
    const availability = [{ topic: 'house/elsewhere/status' }];
    await spy.publish(device, { components: { x: { platform: 'sensor', availability } } }, { retain: true });
    await nodeOn(t, topic, '00000000000000dd', { settings: { homeAssistantPrefix: 'moved' } }).up();
    // A node removes the device of another node before it publishes its own device.
    await spy.untilText('moved/device/tonearm_00000000000000dd/config');
    assert.equal(spy.texts(device).length, 1);
  });

  test('is taken over if the text of its topic `node` is no identifier', async (t) => {
    const topic = 'house/nonsense';
    const spy = await spyOn(t, topic);
    // The node must not make the device topic of a former owner from this text, because `#` is a wildcard.
    await spy.publish(`${topic}/node`, '#', { retain: true });
    await nodeOn(t, topic, '00000000000000ee').up();
    await spy.untilText(`${topic}/node`, (text) => text === '00000000000000ee');
  });

  test('belongs to the first node that takes it over after a power cut, even if another node has sent its question earlier', async (t) => {
    const topic = 'house/cut';
    const spy = await spyOn(t, topic);
    await spy.publish(`${topic}/node`, 'first', { retain: true });
    await spy.publish(`${topic}/status`, 'online', { retain: true });
    const second = nodeOn(t, topic, 'second', { clock: WAITS_LONG });
    await until('the second node has asked', () => spy.texts(`${topic}/who`).includes('second'));
    // The first node takes the branch over while the second one waits for an answer.
    const first = nodeOn(t, topic, 'first', { clock: WAITS_BRIEFLY });
    await second.connecting(/another node, first: set mqtt\.topic/);
    await first.up();
    assert.equal(spy.tree().get(`${topic}/node`), 'first');
  });

  /**
   * A node whose memory card is a copy of `card`. All copies have the same /etc/machine-id, so `card` is the
   * identifier of all of them. `homeAssistantPrefix` keeps the devices of different cards apart.
   */
  const cloneOn = (t: TestContext, branch: string, card: string) =>
    nodeOn(t, branch, card, { settings: { homeAssistantPrefix: card } });

  /**
   * The branch to which the device of this card belongs; empty if there is no device. Throws for a device
   * without the component `backend_mqtt`, such as `formerDevice` in a test below. `until` then tries again.
   */
  async function deviceBranch(card: string): Promise<string> {
    const [text = ''] = (await retained(broker.url, `${card}/#`)).values();
    return text === '' ? '' : JSON.parse(text).components.backend_mqtt.state_topic.replace('/backends', '');
  }

  test('has no device while a living node of another branch has the same identifier', async (t) => {
    const first = cloneOn(t, 'clones/first', 'card1');
    await first.up();
    await until('the first node has published its device', async () => (await deviceBranch('card1')) !== '');

    const second = cloneOn(t, 'clones/second', 'card1');
    await second.up();
    const reason = /shows the node of the branch clones\/first, whose \/etc\/machine-id is the same/;
    assert.match(second.reason, reason);
    assert.equal(second.logged.filter((line) => reason.test(line)).length, 1);

    const spy = await spyOn(t, 'clones/second');
    await spy.publish('clones/second/audio/server/set', { volume: 0.2 });
    await until('the second node serves its branch all the same', () => second.commands.length === 1);
    assert.equal(await deviceBranch('card1'), 'clones/first');
    assert.equal(first.reason, '');

    await first.stop();
    await until(
      'the second node has published its device',
      async () => (await deviceBranch('card1')) === 'clones/second',
    );
    await until('the second node reports no reason any more', () => second.reason === '');
  });

  test('has the device, or its node reports why not, if a node of another branch starts at the same time with the same identifier', async (t) => {
    const nodes = ['clones/left', 'clones/right'].map((branch) => cloneOn(t, branch, 'card2'));
    await until('one of the two has the device, and the other one reports why it has none', async () => {
      const branch = await deviceBranch('card2');
      const nodesWithReason = nodes.filter(({ reason }) => reason !== '');
      assert.equal(nodesWithReason.length, 1);
      const { reason = '', topic } = nodesWithReason[0] ?? {};
      assert.ok(reason.includes(`branch ${branch},`), `${reason}: ${branch}`);
      assert.notEqual(topic, branch);
      assert.deepEqual(
        nodes.map(({ state }) => state),
        ['up', 'up'],
      );
      return true;
    });
  });

  for (const [what, owner, status] of [
    ['whose node has stopped', 'card3', 'offline'],
    ['whose node has lost its power', 'card3', 'online'],
    ['that belongs to another node now', 'other', 'online'],
  ] as const) {
    test(`gets the device of a former branch ${what}`, async (t) => {
      const spy = await spyOn(t, 'former');
      await spy.publish('former/node', owner, { retain: true });
      await spy.publish('former/status', status, { retain: true });
      const availability = [{ topic: 'former/status' }];
      const sensor = { platform: 'sensor', unique_id: 'x', availability, state_topic: 'former/backends' };
      const formerDevice = { components: { old: sensor } };
      await spy.publish('card3/device/tonearm_card3/config', formerDevice, { retain: true });

      const settings = { homeAssistantPrefix: 'card3' };
      const node = nodeOn(t, 'clones/present', 'card3', { settings, clock: WAITS_BRIEFLY });
      await node.up();
      assert.equal(node.reason, '');
      await until(
        'the node publishes the device',
        async () => (await deviceBranch('card3')) === 'clones/present',
      );
    });
  }
});
