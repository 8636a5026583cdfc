// The gateway must end within its deadline, whatever clients do; the clock is manual.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Covers } from '../../src/gateway/covers.js';
import { Documents } from '../../src/gateway/documents.js';
import { EventHub } from '../../src/gateway/events/hub.js';
import { parseEventQuery } from '../../src/gateway/events/query.js';
import { Journal } from '../../src/gateway/journal.js';
import { OperationReplies } from '../../src/gateway/operation-replies.js';
import { ResponseMaker } from '../../src/gateway/reply.js';
import { shutDown } from '../../src/gateway/shutdown.js';
import type { Answer } from '../../src/protocol/actor/commands.js';
import { OPERATIONS } from '../../src/protocol/actor/operations.js';
import { ManualClock } from '../manual-clock.js';
import { SimulatedConnection } from './events/simulated-connection.js';
import { ScriptedBackends } from './scripted-backends.js';

const WITHIN_MS = 1800;
const NOT_READ = {} as never;

class Scene {
  readonly clock = new ManualClock();
  readonly backends = new ScriptedBackends();
  readonly journal = new Journal();
  readonly responses = new ResponseMaker('b');
  readonly replies = new OperationReplies({
    ...{ responses: this.responses, backends: this.backends, clock: this.clock },
    covers: new Covers(this.backends),
    documents: new Documents([], this.journal, this.responses, this.clock),
    serverRecord: () => NOT_READ,
    healthRecord: () => NOT_READ,
    openapi: async () => '{}',
  });
  readonly hub = new EventHub({
    boot: 'b',
    clock: this.clock,
    maxClients: 10,
    journal: this.journal,
    watchLevels: () => undefined,
  });
  /** How long the server takes to close: 0, or as long as it may. */
  closesIn: (withinMs: number) => number = () => 0;
  readonly said: string[] = [];
  readonly #begun = this.clock.monotonic();

  stream(capacity?: number): SimulatedConnection {
    const connection = new SimulatedConnection(capacity);
    const parsed = parseEventQuery('', undefined);
    assert.ok(parsed.ok);
    const stream = this.hub.open(parsed.query, connection);
    assert.ok(stream !== 'full');
    connection.stream = stream;
    return connection;
  }

  /** Sends a request that has no answer until the test gives one. */
  ask(): (answer: Answer) => void {
    const settle = this.backends.hold();
    void this.replies.reply(OPERATIONS.reboot, { params: {} });
    return settle;
  }

  close(): Promise<void> {
    return shutDown(
      {
        handler: { shutDown: () => this.said.push('refusing') },
        replies: this.replies,
        streams: this.hub,
        server: {
          close: (withinMs) => new Promise((resolve) => this.clock.after(this.closesIn(withinMs), resolve)),
        },
        clock: this.clock,
      },
      WITHIN_MS,
    ).then(() => {
      this.said.push(`closed after ${this.clock.monotonic() - this.#begun}`);
    });
  }

  /** Advances the clock in small steps, and lets promises settle between them. */
  async pass(ms: number): Promise<void> {
    for (let step = 0; step < ms; step += 100) {
      await new Promise((resolve) => setImmediate(resolve));
      this.clock.advance(100);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('the end of the service', () => {
  test('comes in time though a stream reads nothing, a command never ends and an exchange stays open', async () => {
    const scene = new Scene();
    const [stalled, quick] = [scene.stream(0), scene.stream()];
    scene.ask();
    scene.closesIn = (withinMs) => withinMs;
    const closed = scene.close();
    await scene.pass(WITHIN_MS - 100);
    assert.equal(quick.over, 'ended', 'bye does not wait for the last moment');
    assert.equal(stalled.over, undefined, 'nor is anybody cut before');
    assert.deepEqual(scene.said, ['refusing']);
    await scene.pass(100);
    await closed;
    assert.equal(stalled.over, 'cut');
    assert.deepEqual(scene.said, ['refusing', `closed after ${WITHIN_MS}`]);
    assert.equal(scene.clock.timers, 0);
  });

  test('sends bye after the answers under way, and leaves streams the remaining time', async () => {
    const scene = new Scene();
    const [stalled, quick] = [scene.stream(0), scene.stream()];
    const settle = scene.ask();
    const closed = scene.close();
    await scene.pass(300);
    assert.equal(quick.over, undefined);
    settle({ ok: true });
    await scene.pass(100);
    assert.equal(quick.over, 'ended');
    await scene.pass(WITHIN_MS - 500);
    assert.equal(stalled.over, undefined);
    await scene.pass(100);
    await closed;
    assert.deepEqual(scene.said, ['refusing', `closed after ${WITHIN_MS}`]);
  });
});
