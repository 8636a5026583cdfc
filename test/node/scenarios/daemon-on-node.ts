// Runs the daemon on the node for all scenarios that need it: start, requests, events, end.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import type { EventConsumer } from '../../consumer/consumer.js';
import type { DispatchedEvent } from '../../consumer/parser.js';
import type { Health } from '../../contract/daemon.js';
import type { HttpAnswer } from '../../tools/http.js';
import { SpawnedText } from '../../tools/spawned.js';
import { until } from '../../until.js';
import { NODE_PROGRAM, type Node } from '../node.js';

/** The folder on this machine that has the bundles. `install` copies it to the node. */
const DIST = process.env['TONEARM_DIST'] ?? fileURLToPath(new URL('../../../../dist', import.meta.url));
const PROGRAM_FOLDER = '/opt/tonearm';
const CONFIG_FILE = '/opt/tonearm-launched/config.yaml';
/** The file on the node that has the process id of the launched daemon. */
export const PID_FILE = '/tmp/tonearm-launched.pid';

export type ReceivedEvents = readonly DispatchedEvent[];

export class DaemonOnNode {
  readonly #node: () => Node;
  readonly #streams = new Set<EventConsumer>();
  #output = new SpawnedText();

  constructor(node: () => Node) {
    this.#node = node;
  }

  get node(): Node {
    return this.#node();
  }

  /** Copies the program to the node. */
  install(): Promise<void> {
    return this.node.install(DIST, PROGRAM_FOLDER);
  }

  /**
   * Starts the daemon anew, outside of the user's manager, so that the daemon outlives the manager. `config`
   * is YAML.
   */
  async launch(config: string): Promise<void> {
    await this.end();
    await this.node.writeFile(CONFIG_FILE, config);
    const script = `echo $$ > ${PID_FILE}; exec ${NODE_PROGRAM} ${PROGRAM_FOLDER}/main.js --config ${CONFIG_FILE}`;
    const { stdout, stderr } = this.node.spawnUser('sh', '-c', script);
    this.#output = new SpawnedText(stdout, stderr);
  }

  /** Closes the streams, ends the launched daemon, if there is one, and waits for its end. */
  async end(signal = 'TERM'): Promise<void> {
    this.stopListening();
    const steps = [
      `[ -e ${PID_FILE} ] || exit 0`,
      `pid=$(cat ${PID_FILE})`,
      `kill -${signal} $pid || true`,
      'while kill -0 $pid 2>/dev/null; do sleep 0.02; done',
      `rm ${PID_FILE}`,
    ];
    await this.node.shell(steps.join('; '));
  }

  /** Waits until the backend is up, and its detail matches. By default, any detail matches. */
  async untilUp(name: string, detail = /(?:)/): Promise<void> {
    await until(`${name} is up ${detail}`, async () => {
      const health = (await this.node.read<Health>('/health')).backends[name];
      assert.ok(health?.state === 'up' && detail.test(health.detail ?? ''), JSON.stringify(health));
      return true;
    }).catch((cause: unknown) => assert.fail(`${String(cause)}; output: ${this.#output.text.slice(-2000)}`));
  }

  /** Runs systemctl for the user's manager. */
  systemctl(...args: readonly string[]): Promise<string> {
    return this.node.systemctl(...args);
  }

  /** Runs a script as the node's user. */
  shell(script: string): Promise<string> {
    return this.node.userShell(script);
  }

  ask(method: string, path: string): Promise<HttpAnswer> {
    return this.node.ask(method, path);
  }

  /** Opens a stream, and resolves with the list of its events. The list grows as events come. */
  async listen(query = ''): Promise<ReceivedEvents> {
    const stream = await this.node.events(query);
    this.#streams.add(stream);
    return stream.events;
  }

  stopListening(): void {
    for (const stream of this.#streams) stream.close();
    this.#streams.clear();
  }
}
