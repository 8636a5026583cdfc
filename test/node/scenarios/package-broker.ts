// A broker behind its own network in the node, for the scenarios of MQTT: requests, messages and subscriptions by mosquitto's own clients.

import assert from 'node:assert/strict';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { until } from '../../until.js';
import type { Node } from '../node.js';
import { shell } from './commands.js';

const HEARD_WITHIN_S = 20;

const ADDRESS = '10.7.0.2';
const CONF = '/run/tonearm-broker.conf';
/** The node's end of the line to it. */
const LINE = 'tobroker';
const INSIDE = ['ip', 'netns', 'exec', 'broker'];
const SUBSCRIBE = [...INSIDE, 'mosquitto_sub', '-h', '127.0.0.1'];

/** It ends after what it serves, and what of it the kernel takes away only later is gone before it begins. */
const START = `
while ip link show ${LINE} > /dev/null 2>&1; do sleep 0.1; done
ip netns add broker
ip link add ${LINE} type veth peer name tonode
ip link set tonode netns broker
ip address add 10.7.0.1/24 dev ${LINE}
ip link set ${LINE} up
ip -n broker address add ${ADDRESS}/24 dev tonode
ip -n broker link set tonode up
ip -n broker link set lo up
printf 'user root\\nlistener 1883\\nallow_anonymous true\\n' > ${CONF}
systemd-run --quiet --collect --unit=broker --property=Before=user@$(id -u pi).service ${INSIDE.join(' ')} /usr/sbin/mosquitto -c ${CONF}
until ${INSIDE.join(' ')} mosquitto_pub -h 127.0.0.1 -t test -m x 2>/dev/null; do sleep 0.1; done
`;

const STOP = `
systemctl stop broker.service
ip link del ${LINE}
ip netns del broker
rm ${CONF}
`;

/** Topics are those below the node's branch. */
export class BrokerOnNode {
  readonly url = `mqtt://${ADDRESS}`;
  /** The node's branch; known once the broker has been started. */
  branch = '';
  readonly #node: () => Node;

  constructor(node: () => Node) {
    this.#node = node;
  }

  /** Also after a reboot, which takes it away. */
  async start(): Promise<void> {
    await shell(this.#node(), START);
    this.branch = `tonearm/${(await this.#node().root('hostname')).stdout.trim()}`;
  }

  async stop(): Promise<void> {
    await shell(this.#node(), STOP);
  }

  async publish(topic: string, payload: string): Promise<void> {
    const what = ['-q', '1', '-t', `${this.branch}/${topic}`, '-m', payload];
    const ran = await this.#node().root(...INSIDE, 'mosquitto_pub', '-h', '127.0.0.1', ...what);
    assert.equal(ran.status, 0, ran.stderr);
  }

  /** Goes on until the node goes down; each message is a line. */
  listen(...topics: readonly string[]): ChildProcessWithoutNullStreams {
    return this.#node().spawnRoot(...SUBSCRIBE, ...this.#filters(topics));
  }

  holds(topic: string, fits: (text: string) => boolean, deadlineMs?: number): Promise<string> {
    return until(
      `${topic} holds the expected value`,
      async () => {
        const text = await this.#next(topic, 1);
        return fits(text) ? text : undefined;
      },
      deadlineMs,
    );
  }

  /** The message on a topic that is not retained, after one act. The retained status shows that the subscription is there. */
  async told(topic: string, act: () => Promise<unknown>): Promise<string> {
    const heard = ['-C', '2', '-W', String(HEARD_WITHIN_S), ...this.#filters(['status', topic])];
    const { stdout } = this.#node().spawnRoot(...SUBSCRIBE, ...heard);
    let text = '';
    stdout.on('data', (bytes: Buffer) => {
      text += String(bytes);
    });
    const line = (index: number) => () => text.split('\n').slice(0, -1)[index];
    await until('the listener is connected', line(0));
    await act();
    return until(`${topic} has a message`, line(1));
  }

  /** The status with which a command is refused. It is given once: a second one could be carried out when what refuses it has gone. */
  async refusal(topic: string, payload: string): Promise<number> {
    const problem = JSON.parse(await this.told('error', () => this.publish(topic, payload)));
    assert.equal(problem.topic, `${this.branch}/${topic}`);
    return problem.status;
  }

  #filters(topics: readonly string[]): readonly string[] {
    return topics.flatMap((topic) => ['-t', `${this.branch}/${topic}`]);
  }

  /** '' where nothing comes within so many seconds. */
  async #next(topic: string, seconds: number): Promise<string> {
    const asked = ['-t', `${this.branch}/${topic}`, '-C', '1', '-W', `${seconds}`];
    return (await this.#node().root(...SUBSCRIBE, ...asked)).stdout.trim();
  }
}
