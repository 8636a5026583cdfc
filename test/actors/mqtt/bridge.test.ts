// Tests the MQTT bridge on a real broker: the topics that it publishes, and the commands that it accepts.
// claims.test.ts tests who owns a branch. outages.test.ts tests the bridge when the broker goes away.

import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import mqtt from 'mqtt';
import type { ChildReply } from '../../../src/protocol/actor/messages.js';
import { type Broker, startBroker } from '../../broker/mosquitto.js';
import {
  ACCEPTED,
  drop,
  hurrying,
  isCommand,
  type NodeOptions,
  ordinary,
  output,
  put,
  simulatedNode,
} from '../../broker/simulated-node.js';
import { retained, startSpy } from '../../broker/spy.js';
import { Deferred } from '../../deferred.js';
import { skipReason } from '../../tools/requirements.js';
import { until } from '../../until.js';

const LONG_NAME = '長'.repeat(4096);
const STRANGE_NAMES = ['set', 'a/b', 'a+b', 'a#b', 'a%b', '\u0085', '\ufdd0', '🎵 é', 'tab\there', LONG_NAME];
/** The names of the outputs that a simulated node has from the start. */
const USUAL_NAMES = ['alsa', 'kitchen'];

function problemDocument(status: number, type: string): string {
  return JSON.stringify({ type: `urn:tonearm:problem:${type}`, title: 'No', status, detail: 'No.' });
}

const putOutput = (id: number, name: string) => put('audio.outputs', `${id}`, output(id, name));

const COMMAND_COUNT = 300;
/** One command is under way, and at most 256 commands wait. */
const ACCEPTED_COUNT = 1 + 256;

describe('a bridge', { skip: skipReason({ programs: ['mosquitto'] }) }, () => {
  let broker: Broker;
  before(async () => {
    broker = await startBroker();
  });
  after(() => broker.stop());
  let nodeCount = 0;

  /**
   * Starts a node with the records `WHOLE_NODE` of simulated-node.ts and a branch of its own, and a spy on
   * this branch. If `options.settings` has a topic, the node has the branch of that topic instead, and the
   * spy receives nothing.
   */
  async function startNode(t: TestContext, options: Partial<NodeOptions> = {}) {
    nodeCount += 1;
    const topic = `house/${nodeCount}`;
    const identifier = `node${nodeCount}`;
    const settings = { topic, homeAssistantPrefix: `ha${nodeCount}`, ...options.settings };
    const spy = await startSpy(broker.url, `${topic}/#`);
    t.after(() => spy.end());
    const node = simulatedNode(t, { url: broker.url, identifier, ...options, settings });
    await node.up();
    return { node, spy };
  }

  test('publishes everything that the node has, with the status online, and publishes the status offline when it stops', async (t) => {
    const { node } = await startNode(t);
    const branch = `${node.topic}/`;
    const tree = await retained(broker.url, `${branch}#`);
    const topics = [...tree.keys()].map((topic) => topic.slice(branch.length));
    assert.deepEqual(topics.sort(), [
      'audio/clients',
      'audio/outputs/alsa',
      'audio/outputs/kitchen',
      'audio/server',
      'backends',
      'node',
      'power',
      'server',
      'services/system/ssh.service',
      'services/user/mpd.service',
      'status',
      'upgrade',
    ]);
    assert.equal(tree.get(`${branch}status`), 'online');
    assert.equal(tree.get(`${branch}audio/clients`), '[]');
    // The following values are those of `WHOLE_NODE`.
    assert.deepEqual(JSON.parse(tree.get(`${branch}upgrade`) ?? ''), {
      current: '1',
      latest: '2',
      upgrade_available: true,
      run: { state: 'idle' },
      can_check: true,
      can_upgrade: true,
    });
    const { audio } = JSON.parse(tree.get(`${branch}backends`) ?? '');
    assert.deepEqual(audio, { state: 'up', since: '2023-11-14T22:13:20.000Z', restarts: 0 });
    await node.stop();
    assert.equal((await retained(broker.url, `${branch}status`)).get(`${branch}status`), 'offline');
  });

  test('publishes its device again when Home Assistant has deleted it', async (t) => {
    const { node } = await startNode(t);
    const prefix = `ha${nodeCount}`;
    const device = `${prefix}/device/tonearm_node${nodeCount}/config`;
    const spy = await startSpy(broker.url, `${prefix}/#`);
    t.after(() => spy.end());
    const text = await spy.untilText(device);
    // Home Assistant deletes a device by sending an empty message for each entity of the device.
    for (let entity = 0; entity < 3; entity += 1) await spy.publish(device, '', { retain: true });
    const isRetained = async () => (await retained(broker.url, device)).get(device) === text;
    await until('the broker retains the device again', isRetained);
    assert.deepEqual([node.state, node.reason], ['up', '']);
  });

  test('has a topic for each output, whatever the name of the output is, and a command below this topic reaches the output', async (t) => {
    const { node, spy } = await startNode(t);
    node.publishRecords(...STRANGE_NAMES.map((name, index) => putOutput(10 + index, name)));
    const names = [...USUAL_NAMES, ...STRANGE_NAMES];
    const outputsPrefix = `${node.topic}/audio/outputs/`;
    const states = await until('all outputs are published', () => {
      const published = [...spy.tree()].filter(([topic]) => topic.startsWith(outputsPrefix));
      return published.length === names.length && published;
    });
    for (const [topic, text] of states) {
      await spy.publish(`${topic}/set`, { muted: JSON.parse(text).muted !== true });
    }
    await until('all commands have come', () => node.commands.length === names.length);

    const mutedNames = node.commands.map(([what]) => what.replace('muteOutput ', ''));
    assert.deepEqual(mutedNames.sort(), names.sort());
    const topicLevels = states.map(([topic]) => topic.slice(outputsPrefix.length));
    const escapedLevels = topicLevels.filter((level) => level.includes('a%'));
    assert.deepEqual(escapedLevels.sort(), ['a%23b', 'a%25b', 'a%2Bb', 'a%2Fb']);
  });

  test('has a topic for each of several outputs that share a name, and a command reaches the output of its topic', async (t) => {
    const { node, spy } = await startNode(t);
    // Each name could mean two outputs: two are called `twin`, and `57` is the name of one output and the id
    // of another. So the requests have ids.
    node.publishRecords(putOutput(57, 'twin'), putOutput(58, 'twin'), putOutput(9, '57'));
    // The second twin is published as `twin #58`. Its topic has `%23` in place of `#`.
    const topicOfOutputs = `${node.topic}/audio/outputs`;
    for (const [level, id] of [
      ['twin', 57],
      ['twin %2358', 58],
      ['57', 9],
    ] as const) {
      await spy.untilText(`${topicOfOutputs}/${level}`, (text) => JSON.parse(text).id === id);
      await spy.publish(`${topicOfOutputs}/${level}/set`, { volume: 0.2 });
    }

    await spy.publish(`${node.topic}/audio/server/set`, { output: 'twin #58' });
    await spy.publish(`${node.topic}/audio/clients/song/set`, { output: 'twin' });
    await spy.publish(`${node.topic}/audio/clients/talk/set`, { output: 'kitchen' });
    await until('all commands have come', () => node.commands.length === 6);
    assert.deepEqual(node.commands, [
      ['setOutputVolume 57', { volume: 0.2 }],
      ['setOutputVolume 58', { volume: 0.2 }],
      ['setOutputVolume 9', { volume: 0.2 }],
      ['setDefaultOutput 58', undefined],
      ['moveClient song', { output: '57' }],
      ['moveClient talk', { output: 'kitchen' }],
    ]);

    node.publishRecords(drop('audio.outputs', '57'));
    await spy.untilEmpty(`${topicOfOutputs}/twin`);
    // The other twin keeps its topic.
    await spy.untilText(`${topicOfOutputs}/twin %2358`);
  });

  test('commands a client by its name, even if the name is the id of another client', async (t) => {
    const { node, spy } = await startNode(t);
    const putClient = (id: number, name: string) => put('audio.clients', `${id}`, { id, name });
    node.publishRecords(putClient(5, '22'), putClient(22, 'talk'));
    const clients = `${node.topic}/audio/clients`;
    await spy.publish(`${clients}/22/set`, { volume: 0.2, output: 'kitchen' });
    await spy.publish(`${clients}/22/mute/set`, 'ON');
    await spy.publish(`${clients}/talk/set`, { volume: 0.3 });
    // No client has the name `5`, so `5` is an id.
    await spy.publish(`${clients}/5/set`, { volume: 0.4 });
    await until('all commands have come', () => node.commands.length === 5);
    assert.deepEqual(node.commands, [
      ['setClientVolume 5', { volume: 0.2 }],
      ['moveClient 5', { output: 'kitchen' }],
      ['muteClient 5', { muted: true }],
      ['setClientVolume talk', { volume: 0.3 }],
      ['setClientVolume 5', { volume: 0.4 }],
    ]);
  });

  test('publishes events, and the reason why a command was refused', async (t) => {
    const answer: NodeOptions['answer'] = (request) =>
      request.params?.['output'] === 'nosuch'
        ? { status: 404, body: problemDocument(404, 'no-such-output') }
        : ordinary(request);
    const { node, spy } = await startNode(t, { answer });
    node.publishRecords(put('power.action', '', { action: 'reboot' }));
    const event = await spy.untilText(`${node.topic}/event`);
    assert.deepEqual(JSON.parse(event), { event: 'power.action', data: { action: 'reboot' } });

    const topic = `${node.topic}/audio/outputs/nosuch/set`;
    await spy.publish(topic, { volume: 0.5 });
    const error = JSON.parse(await spy.untilText(`${node.topic}/error`));
    assert.deepEqual(error, { ...JSON.parse(problemDocument(404, 'no-such-output')), topic });
    const tree = await retained(broker.url, `${node.topic}/#`);
    assert.ok(!tree.has(`${node.topic}/event`), 'the event is not retained');
    assert.ok(!tree.has(`${node.topic}/error`), 'the error is not retained');
  });

  test('refuses a word that a topic does not take, and lists the words that the topic takes', async (t) => {
    const { node, spy } = await startNode(t);
    const rows = [
      ['power', 'REBOOT', /^The words are poweroff, reboot; got "REBOOT"$/],
      ['audio/outputs/kitchen/mute', 'on', /^The words are ON, OFF, toggle; got "on"$/],
      ['players/mpv', 'x'.repeat(5000), /play_pause, .*; got "x{64}\.\.\."$/],
    ] as const;
    for (const [topicBelow, payload, detail] of rows) {
      const topic = `${node.topic}/${topicBelow}/set`;
      await spy.publish(topic, payload);
      const text = await spy.untilText(`${node.topic}/error`, (error) => JSON.parse(error).topic === topic);
      assert.match(JSON.parse(text).detail, detail);
    }
    assert.deepEqual(node.commands, []);
  });

  test('answers a refused command at the error topic of the node, and also at the response topic of the sender', async (t) => {
    const { node, spy } = await startNode(t);
    const sender = mqtt.connect(broker.url, { protocolVersion: 5 });
    t.after(() => sender.endAsync(true));
    const received: { topic: string; text: string; correlation: string }[] = [];
    sender.on('message', (topic, payload, { properties }) =>
      received.push({ topic, text: payload.toString(), correlation: String(properties?.correlationData) }),
    );
    await sender.subscribeAsync(['answers/+', 'house/+/error'], { qos: 1 });
    const topic = `${node.topic}/power/set`;
    const send = (payload: string, responseTopic: string) =>
      sender.publishAsync(topic, payload, {
        qos: 1,
        properties: { responseTopic, correlationData: Buffer.from('mark 1') },
      });
    // This command is accepted, so no answer comes.
    await send('poweroff', 'answers/none');
    await send('REBOOT', 'answers/me');
    await until('the answer has come', () => received.some((message) => message.topic === 'answers/me'));
    const [error, answer] = received;
    assert.equal(error?.topic, `${node.topic}/error`);
    assert.deepEqual(answer, { topic: 'answers/me', text: error?.text, correlation: 'mark 1' });

    await sender.publishAsync(topic, 'REBOOT', { qos: 1 });
    await until(
      'the command without a response topic is refused',
      () => spy.texts(`${node.topic}/error`).length === 2,
    );
    assert.deepEqual(node.commands, [['powerOff', undefined]]);
    // This command is the last, so its answer comes after all other answers.
    await send('REBOOT', 'answers/last');
    const answeredTopics = () =>
      received.map((message) => message.topic).filter((name) => name.startsWith('answers/'));
    await until('the last answer has come', () => answeredTopics().includes('answers/last'));
    assert.deepEqual(
      answeredTopics(),
      ['answers/me', 'answers/last'],
      'only refused commands with a response topic are answered',
    );
  });

  test('repeatedly reads the state that no event announces', async (t) => {
    let isRebootAllowed = false;
    // The bridge reads this state every ten minutes (bridge.ts). With this clock the bridge reads the state
    // every 50 ms.
    const { node, spy } = await startNode(t, {
      clock: hurrying(600_000),
      answer: (request) =>
        request.operation === 'power'
          ? { status: 200, body: `{"reboot":${isRebootAllowed},"power_off":false}` }
          : ordinary(request),
    });
    await spy.untilText(`${node.topic}/power`, (text) => text === '{"reboot":false,"power_off":false}');
    isRebootAllowed = true;
    await spy.untilText(`${node.topic}/power`, (text) => text === '{"reboot":true,"power_off":false}');
  });

  test('soon asks again for state that could not be read', async (t) => {
    const requestedOperations = new Set<string>();
    // The bridge asks again 30 s after a failure (bridge.ts). With this clock it asks again after 50 ms.
    const { node, spy } = await startNode(t, {
      clock: hurrying(30_000),
      answer: (request) => {
        const operation = request.operation ?? '';
        const isFirstReading = !isCommand(request.operation) && !requestedOperations.has(operation);
        requestedOperations.add(operation);
        return isFirstReading ? { status: 504, body: problemDocument(504, 'timeout') } : ordinary(request);
      },
    });
    await spy.untilText(`${node.topic}/power`);
    await spy.untilText(`${node.topic}/server`);
  });

  test('publishes an error if too many commands wait', async (t) => {
    const reply = new Deferred<ChildReply>();
    const answer: NodeOptions['answer'] = (request) =>
      isCommand(request.operation) ? reply.promise : ordinary(request);
    const { node, spy } = await startNode(t, { answer });
    const topic = `${node.topic}/audio/server/set`;
    // Each delta counts, so no command replaces one that waits.
    await Promise.all(Array.from({ length: COMMAND_COUNT }, () => spy.publish(topic, { delta: 0.1 })));
    await until(
      'the commands beyond the bound are refused',
      () => spy.texts(`${node.topic}/error`).length === COMMAND_COUNT - ACCEPTED_COUNT,
    );
    const error = JSON.parse(await spy.untilText(`${node.topic}/error`));
    assert.deepEqual([error.status, error.topic], [503, topic]);

    reply.resolve(ACCEPTED);
    await until('the accepted commands are carried out', () => node.commands.length === ACCEPTED_COUNT);
  });

  test('does not carry out a retained command, and publishes an error with the topic of the command', async (t) => {
    const spy = await startSpy(broker.url, 'house/retained/#');
    t.after(() => spy.end());
    const topic = 'house/retained/audio/server/set';
    await spy.publish(topic, { volume: 0.1 }, { retain: true });
    const { node } = await startNode(t, { settings: { topic: 'house/retained' } });
    const error = JSON.parse(await spy.untilText('house/retained/error'));
    assert.deepEqual(
      [error.type, error.status, error.topic],
      ['urn:tonearm:problem:retained-command', 400, topic],
    );
    // A command with the retain flag is also refused if it comes while the node is connected.
    await spy.publish(topic, { volume: 0.3 }, { retain: true });
    await until('both retained commands are refused', () => spy.texts('house/retained/error').length === 2);

    await spy.publish(topic, { volume: 0.2 });
    await until('the command that is not retained is carried out', () => node.commands.length > 0);
    assert.deepEqual(node.commands, [['setServerVolume', { volume: 0.2 }]]);
  });

  test('publishes an error for a retained command at each start', async (t) => {
    const topic = 'house/starts/audio/server/set';
    const spy = await startSpy(broker.url, 'house/starts/#');
    t.after(() => spy.end());
    await spy.publish(topic, { volume: 0.1 }, { retain: true });
    for (let start = 1; start <= 4; start += 1) {
      const { node, spy: ownSpy } = await startNode(t, {
        settings: { topic: 'house/starts' },
        identifier: 'same',
      });
      await until(
        `the error of start ${start} is published`,
        () => spy.texts('house/starts/error').length === start,
      );
      await node.stop();
      await ownSpy.end();
    }
  });

  test('subscribes to no commands if mqtt.control is false', async (t) => {
    await startNode(t, { settings: { topic: 'house/shown', control: false } });
    assert.doesNotMatch(broker.log(), /house\/shown.*\/set/);
  });
});
