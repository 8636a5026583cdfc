// Tests the MQTT bridge with a broker that goes away, hangs, loses its retained messages, or refuses the
// connection or some topics. When the broker works again, it must retain the current state of the node.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { type Broker, type BrokerOptions, startBroker } from '../../broker/mosquitto.js';
import {
  drop,
  hurrying,
  output,
  put,
  type SimulatedNode,
  simulatedNode,
} from '../../broker/simulated-node.js';
import { retained, startSpy } from '../../broker/spy.js';
import { freePort } from '../../tools/free-port.js';
import { skipReason } from '../../tools/requirements.js';
import { until } from '../../until.js';

const OUTPUTS = 'tonearm/living/audio/outputs/';

/** How often `part` occurs in the text. */
const occurrencesIn = (text: string, part: string): number => text.split(part).length - 1;

describe('a bridge', { skip: skipReason({ programs: ['mosquitto'] }) }, () => {
  async function startTestBroker(t: TestContext, options: BrokerOptions = {}): Promise<Broker> {
    const broker = await startBroker(options);
    t.after(() => broker.stop());
    return broker;
  }

  /** Removes one output, changes one, and adds one. */
  function changeOutputs(node: SimulatedNode): void {
    node.publishRecords(
      drop('audio.outputs', '2'),
      put('audio.outputs', '1', output(1, 'alsa', { description: 'Living room', volume: 0.1 })),
      put('audio.outputs', '3', output(3, 'garden')),
    );
  }

  /** Waits until the broker retains what the node has after `changeOutputs`. */
  async function untilCurrent(url: string): Promise<void> {
    await until('the retained topics are those of the node', async () => {
      const tree = await retained(url, 'tonearm/living/#');
      const outputs = [...tree.keys()].filter((topic) => topic.startsWith(OUTPUTS)).sort();
      assert.deepEqual(outputs, [`${OUTPUTS}alsa`, `${OUTPUTS}garden`]);
      assert.equal(JSON.parse(tree.get(`${OUTPUTS}alsa`) ?? '').volume, 0.1);
      assert.equal(tree.get('tonearm/living/status'), 'online');
      // The branch has two outputs and two services. Its other topics are `node`, `status`, `server`,
      // `power`, `backends`, `upgrade`, `audio/server` and `audio/clients`.
      assert.equal(tree.size, 12);
      return true;
    });
  }

  test('publishes everything again when its broker has restarted and lost the retained messages', async (t) => {
    const broker = await startTestBroker(t);
    const node = simulatedNode(t, { url: broker.url });
    await node.up();
    await broker.end();
    // `/./` matches any reason.
    await node.connecting(/./);
    changeOutputs(node);

    await broker.start({ forget: true });
    await node.up();
    await untilCurrent(broker.url);
  });

  test('gives up a broker that hangs, names the reason, and publishes the current state afterwards', async (t) => {
    const broker = await startTestBroker(t);
    const node = simulatedNode(t, { url: broker.url });
    await node.up();

    broker.freeze();
    changeOutputs(node);
    await until('the bridge gives the broker up', () => node.state === 'connecting', 40_000);
    assert.match(node.reason, /has not acknowledged \S+ within 20 s/);

    broker.thaw();
    await until('the bridge is up again', () => node.state === 'up', 30_000);
    await untilCurrent(broker.url);
  });

  test('reports only once that its broker refuses the name and the password, however often the bridge tries', async (t) => {
    const passwordHash =
      'node:$7$101$5tJvgL4vBR0Mzcm6$Yw8z3CMRzLZKQ4cIqRyN0rTLvD1A8M7bOAFPp9yqPTIqUBVo9bSZ0xvbEm0mQXNZqUEVPPSJTxGqfpfbc8FmTA==\n';
    // The hash is of another password. `\ufeff` is a byte order mark. Editors do not display this mark, so
    // the reason mentions it.
    const files = { secret: '\ufeffwrong\n', users: passwordHash };
    // `DIR` becomes the directory of the broker (mosquitto.ts).
    const broker = await startTestBroker(t, { anonymous: false, files, lines: ['password_file DIR/users'] });
    const settings = { username: 'node', passwordFile: `${broker.directory}/secret` };
    const node = simulatedNode(t, { url: broker.url, settings });
    await node.connecting(
      /(Not authorized|Bad User Name).* \(mqtt.passwordFile: .*: it begins with a byte order mark\)$/i,
    );
    // The bridge tries again only after it has read a refusal. So at the third refusal in the broker's log,
    // the bridge has read two, and could have reported both.
    await until(
      'the bridge has tried a third time',
      () => occurrencesIn(broker.log(), 'not authorised') >= 3,
    );
    assert.equal(node.statuses.length, 1, 'the reason is reported once for all attempts');
    const lines = node.logged.filter((line) => line.includes('byte order mark'));
    assert.equal(lines.length, 1, 'the log has the reason once');
    assert.ok(!lines[0]?.includes('wrong'), 'the log does not have the password');
  });

  test('has the state `connecting`, and a reason, while its broker refuses all publications', async (t) => {
    // The bridge may write only to the topic `nothing`, which it does not use.
    const files = { acl: 'topic read #\ntopic write nothing\n' };
    const broker = await startTestBroker(t, { files, lines: ['acl_file DIR/acl'] });
    const node = simulatedNode(t, { url: broker.url });
    await node.connecting(/the broker refuses tonearm\/living\/\S+: .*Not authorized/);
    const statusCount = node.statuses.length;
    // Each attempt makes two connections: one for the probe, which reads what the broker retains, and one
    // that serves the branch (bridge.ts). So the fifth connection begins the third attempt.
    await until(
      'the bridge has tried a third time',
      () => occurrencesIn(broker.log(), 'New client connected') >= 5,
    );
    assert.equal(node.statuses.length, statusCount, 'the bridge has not been up in between');
  });

  /** Starts a broker with an access list that allows all topics except these topics of the node. */
  const startDenyingBroker = (t: TestContext, ...denied: readonly string[]): Promise<Broker> => {
    const lines = [
      'topic readwrite #',
      ...denied.map((subtopic) => `topic deny tonearm/living/${subtopic}`),
      '',
    ];
    return startTestBroker(t, { files: { acl: lines.join('\n') }, lines: ['acl_file DIR/acl'] });
  };

  test('leaves out and names the topics that its broker denies, and stays connected', async (t) => {
    const denied = ['power', 'audio/outputs/alsa', 'event'];
    const broker = await startDenyingBroker(t, ...denied);
    const node = simulatedNode(t, { url: broker.url });
    await node.up();
    // The bridge publishes an action to the topic `event`.
    node.publishRecords(put('power.action', '', { action: 'reboot' }));
    await until('all three topics are named', () =>
      denied.every((subtopic) => node.reason.includes(`tonearm/living/${subtopic}`)),
    );
    assert.match(node.reason, /^refused by the broker \(Not authorized\), so left out: /);
    node.publishRecords(put('audio.outputs', '2', output(2, 'kitchen', { volume: 0.9 })));
    await until('the other topics are current', async () =>
      (await retained(broker.url, `${OUTPUTS}#`)).get(`${OUTPUTS}kitchen`)?.includes('0.9'),
    );
    // The pattern does not match the connections of the probe, because their client ids end with `-probe`.
    const connections = broker.log().match(/New client connected .* as tonearm-\w+-\w+ /g) ?? [];
    assert.equal(connections.length, 1, 'the connection has lasted');
  });

  test('publishes a denied topic when its broker allows the topic later', async (t) => {
    const broker = await startDenyingBroker(t, 'power');
    // The bridge tries denied topics again every ten minutes (bridge.ts), and every 50 ms with this clock.
    const node = simulatedNode(t, { url: broker.url, clock: hurrying(600_000) });
    await until('the topic is named', () => node.reason.endsWith('left out: tonearm/living/power'));
    writeFileSync(`${broker.directory}/acl`, 'topic readwrite #\n', { mode: 0o600 });
    // The signal makes mosquitto read the access list again.
    process.kill(broker.pid, 'SIGHUP');
    await until('nothing is left out any more', () => node.state === 'up' && node.reason === '');
    const power = 'tonearm/living/power';
    await until('the topic is published', async () => (await retained(broker.url, power)).has(power));
  });

  test('names an address at which no broker answers', async (t) => {
    const port = await freePort();
    const node = simulatedNode(t, { url: `mqtt://localhost:${port}` });
    await node.connecting(/ECONNREFUSED 127\.0\.0\.1/);
  });

  test('leaves out and names a topic that is too long', async (t) => {
    const broker = await startTestBroker(t);
    const node = simulatedNode(t, { url: broker.url });
    await node.up();
    // With its prefix the topic has more than 65 000 bytes (TOPIC_MAX_BYTES in retained-topics.ts).
    node.publishRecords(put('audio.outputs', '9', output(9, 'x'.repeat(65_000))));
    const start = `longer than a topic of MQTT may be, so left out: ${OUTPUTS}xxx`;
    await until('the topic is named', () => node.reason.startsWith(start));
    node.publishRecords(drop('audio.outputs', '9'));
    await until('the topic is no longer named', () => node.state === 'up' && node.reason === '');
  });

  test('leaves out and names a topic whose text is too large for its broker, and publishes the other topics', async (t) => {
    const broker = await startTestBroker(t, { lines: ['max_packet_size 3000'] });
    const node = simulatedNode(t, { url: broker.url });
    await node.up();
    const largeTopic = 'tonearm/living/audio/outputs/alsa';
    const deviceTopic = 'homeassistant/device/tonearm_0123456789abcdef/config';
    // The device message for Home Assistant has more than 3000 bytes from the start.
    assert.equal(node.reason, `too large for the broker, so left out: ${deviceTopic}`);
    const alsaWithProps = (chars: number) =>
      put('audio.outputs', '1', output(1, 'alsa', { props: { x: 'x'.repeat(chars) } }));

    node.publishRecords(alsaWithProps(3000));
    await until('the topic of the output is named', () =>
      node.reason.endsWith(`left out: ${deviceTopic}, ${largeTopic}`),
    );
    assert.ok(
      !(await retained(broker.url, largeTopic)).has(largeTopic),
      'the old state is no longer retained',
    );

    node.publishRecords(put('audio.outputs', '2', output(2, 'kitchen', { volume: 0.9 })), alsaWithProps(100));
    await until('the topics of both outputs are current', async () => {
      const tree = await retained(broker.url, `${OUTPUTS}#`);
      return tree.has(largeTopic) && tree.get(`${OUTPUTS}kitchen`)?.includes('0.9');
    });
    await until('the output is no longer left out', () => node.reason.endsWith(`left out: ${deviceTopic}`));

    // The bridge refuses both commands, because they are retained. The first refusal contains the long
    // topic, so it is too large for the broker. Only the second refusal is published.
    const spy = await startSpy(broker.url, 'tonearm/living/error');
    t.after(() => spy.end());
    await spy.publish(`tonearm/living/audio/outputs/${'x'.repeat(2900)}/set`, '{}', { retain: true });
    await spy.publish('tonearm/living/audio/outputs/x/set', '{}', { retain: true });
    await until('the second refusal is published', () => spy.texts('tonearm/living/error').length > 0);
    const states = new Set(node.statuses.map(({ state }) => state));
    assert.deepEqual(states, new Set(['up']), 'no connection has ended');
    // One line is for the device message, and one for the output. The refusal is dropped without a line.
    assert.equal(node.logged.length, 2, 'the log has one line for each topic that is left out');
  });

  /** Servers that are no MQTT brokers. */
  const otherServers: readonly (readonly [behaviour: string, sent: string, reason: RegExp])[] = [
    ['accepts the connection and sends nothing', '', /connack timeout/],
    ['sends an HTTP error', 'HTTP/1.1 400 Bad Request\r\n\r\n', /./],
  ];
  for (const [behaviour, sent, reason] of otherServers) {
    test(`has the state \`connecting\`, and a reason, if the server ${behaviour}`, async (t) => {
      const node = simulatedNode(t, { url: await startTcpServer(t, (socket) => socket.write(sent)) });
      await node.connecting(reason);
    });
  }
});

async function startTcpServer(t: TestContext, onConnection: (socket: Socket) => void): Promise<string> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined);
    onConnection(socket);
    t.after(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
