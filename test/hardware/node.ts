// Runs tonearm on the emulated machine, installed and set up as a newcomer does it, and watches it from
// outside, by HTTP and the event stream.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { NodeState } from '../../src/client/store.js';
import type { CardRecord, InputRecord } from '../../src/protocol/actor/schemas.js';
import { EventConsumer } from '../consumer/consumer.js';
import { type Audio, byId, type Client, hasValues, type Output } from '../contract/audio-node.js';
import { Conformance } from '../gateway/openapi-conformance.js';
import { buildPackage, FOR_DEBIAN_12, packageIn } from '../packaging/built-package.js';
import { temporaryFolder } from '../temporary-folder.js';
import { type HttpAnswer, send } from '../tools/http.js';
import { until } from '../until.js';
import { bootMachine, type Machine } from './machine.js';

/** An emulated machine on a busy computer needs half a minute for what takes a second elsewhere. */
export const SLOW_MS = 240_000;

const LIST_ALL = 'pactl get-default-sink; pactl list short sinks; pactl list short sink-inputs';

/**
 * True if TONEARM_HARDWARE=full has asked for all scenarios and for many rounds. `npm test -- --all` alone
 * runs only some scenarios, with few rounds.
 */
export const isFullSize = process.env['TONEARM_HARDWARE'] === 'full';

export class EmulatedNode {
  readonly machine: Machine;
  /** The event stream, open since the set-up. */
  readonly stream: EventConsumer;
  readonly #conformance: Conformance;

  private constructor(machine: Machine, stream: EventConsumer, openApi: string) {
    this.machine = machine;
    this.stream = stream;
    this.#conformance = Conformance.of(openApi);
  }

  /**
   * Boots a machine and sets tonearm up on it. `settings` is the text of a further file of the
   * configuration, and `setupOptions` are further options of tonearm-setup.
   */
  static async boot(settings: string, ...setupOptions: readonly string[]): Promise<EmulatedNode> {
    const machine = await bootMachine();
    try {
      await install(machine);
      const folder = '~/.config/tonearm/conf.d';
      await machine.user(`mkdir -p ${folder}; cat > ${folder}/70-test.yaml`, settings);
      await machine.root(`tonearm-setup --user pi --bind all ${setupOptions.join(' ')}`);
      return await EmulatedNode.watch(machine);
    } catch (error) {
      await machine.close();
      throw error;
    }
  }

  /** Watches a machine on which tonearm listens already. */
  static async watch(machine: Machine): Promise<EmulatedNode> {
    const document = await send(machine.port, { path: '/openapi.json' });
    const stream = await EventConsumer.open(`http://127.0.0.1:${machine.port}/events?snapshot=1`);
    return new EmulatedNode(machine, stream, document.text);
  }

  /** A stream of levels, which are measured for as long as it is open. */
  openLevels(): Promise<EventConsumer> {
    const path = '/events?types=audio.level,backend.updated';
    return EventConsumer.open(`http://127.0.0.1:${this.machine.port}${path}`);
  }

  /** Opens the event stream again after an end of the daemon. Resolves when the new snapshot has begun. */
  async untilListening(): Promise<void> {
    const marksBefore = this.stream.model.marks;
    const isOpen = (): Promise<boolean> => this.stream.reconnect().then(() => true);
    await until('the event stream', isOpen, SLOW_MS);
    // Until the first mark of the new snapshot, the model has the records of the daemon that has ended.
    await this.until('the snapshot has begun', () => this.stream.model.marks > marksBefore);
  }

  async close(): Promise<void> {
    this.stream.close();
    await this.machine.close();
  }

  async get<T>(path: string): Promise<T> {
    const answer = await send(this.machine.port, { path, deadlineMs: SLOW_MS });
    this.#conformance.check('GET', path, answer);
    assert.equal(answer.status, 200, `GET ${path}: ${answer.text}`);
    return JSON.parse(answer.text) as T;
  }

  async post(path: string, body?: unknown): Promise<HttpAnswer> {
    const headers = { 'Content-Type': 'application/json' };
    const json = body === undefined ? {} : { body: JSON.stringify(body), headers };
    const request = { method: 'POST', path, ...json, deadlineMs: SLOW_MS };
    const answer = await send(this.machine.port, request);
    this.#conformance.check('POST', path, answer);
    return answer;
  }

  /** POSTs and demands a 202. */
  async change(path: string, body?: unknown): Promise<void> {
    const { status, text } = await this.post(path, body);
    assert.equal(status, 202, `POST ${path}: ${text}`);
  }

  /** Resolves when the condition holds for what the event stream has brought. */
  until(what: string, condition: () => boolean): Promise<void> {
    return this.stream.until(condition, what, SLOW_MS);
  }

  /** The output of that name, once the event stream has brought it with these values. */
  untilOutput(name: string, values: Partial<Output> = {}): Promise<Output> {
    return this.#untilRecord(({ outputs }) => outputs, { name, ...values });
  }

  /** The input of that name, once the event stream has brought it with these values. */
  untilInput(name: string, values: Partial<InputRecord> = {}): Promise<InputRecord> {
    return this.#untilRecord(({ inputs }) => inputs, { name, ...values });
  }

  untilInputGoes(name: string): Promise<void> {
    const isGone = (): boolean =>
      [...this.stream.model.known.inputs.values()].every((input) => input.name !== name);
    return this.until(`the end of input ${name}`, isGone);
  }

  untilOutputGoes(name: string): Promise<void> {
    return this.until(`the end of output ${name}`, () => !this.hasOutput(name));
  }

  hasOutput(name: string): boolean {
    return [...this.stream.model.known.outputs.values()].some((output) => output.name === name);
  }

  /** The client of that name, once it plays to that output. */
  untilClient(name: string, output: string): Promise<Client> {
    return this.#untilRecord(({ clients }) => clients, { name, output });
  }

  async #untilRecord<T extends object>(
    recordsOf: (state: NodeState) => ReadonlyMap<number, T>,
    values: object,
  ) {
    const found = (): T | undefined =>
      [...recordsOf(this.stream.model.known).values()].find((record) => hasValues(record, values));
    const what = `a record with ${JSON.stringify(values)}`;
    await this.until(what, () => found() !== undefined);
    return found() ?? assert.fail(what);
  }

  /**
   * Waits until the event stream and the routes have the same cards, outputs and clients, and the sound
   * server itself has the same outputs, default output and clients.
   */
  async untilAllAgree(): Promise<void> {
    const assertAgreement = async (): Promise<true> => {
      const { known } = this.stream.model;
      const { server, outputs, clients } = await this.get<Audio>('/audio');
      assert.deepEqual(byId(known.cards.values()), byId(await this.get<CardRecord[]>('/audio/cards')));
      assert.deepEqual(byId(known.outputs.values()), byId(outputs));
      assert.deepEqual(byId(known.clients.values()), byId(clients));
      const [defaultSink, ...lines] = (await this.machine.user(LIST_ALL)).trimEnd().split('\n');
      // The first two columns are a sink's id and name, or a sink input's id and the id of its sink.
      const serverRows = lines.map((line) => line.split('\t').slice(0, 2).join(' '));
      const idOf = (name?: string): number | undefined => outputs.find((output) => output.name === name)?.id;
      const sinkRows = outputs.map(({ id, name }) => `${id} ${name}`);
      const sinkInputRows = clients.map(({ id, output }) => `${id} ${idOf(output)}`);
      const routeRows = [...sinkRows, ...sinkInputRows];
      assert.deepEqual([defaultSink, ...serverRows.sort()], [server.default_sink, ...routeRows.sort()]);
      return true;
    };
    await until('stream, routes and sound server agree', assertAgreement, SLOW_MS);
  }
}

/** A machine whose Debian has no Node.js for tonearm gets the package that contains Node.js. */
async function install(machine: Machine): Promise<void> {
  const hasNode = (await machine.root('command -v node || true')) !== '';
  const folder = temporaryFolder();
  // A package with Node.js is large, so its compression would take long.
  const form = hasNode ? ['--compress', 'gzip'] : ['--compress', 'none', '--with-node', '--debian', '12'];
  await buildPackage(...form, '--out', folder);
  const file = hasNode
    ? packageIn(folder, 'tonearm', 'amd64')
    : packageIn(folder, 'tonearm-with-node', 'amd64', FOR_DEBIAN_12);
  const apt = 'DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends';
  await machine.root(`cat > /root/tonearm.deb && ${apt} /root/tonearm.deb`, readFileSync(file));
}
