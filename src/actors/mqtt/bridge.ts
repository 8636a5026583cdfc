// The bridge to an MQTT broker: checks who owns the branch, serves it, and comes back after every loss. The branch's content is defined
// in branch.ts; serving.ts serves it over one connection.

import { backoffMs, type Clock, Timers } from '../../clock.js';
import type { BackendState, ChildName } from '../../protocol/actor/backends.js';
import { SPECS } from '../../protocol/actor/collections.js';
import type { ChangeBatch } from '../../protocol/actor/messages.js';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import type { BridgeActor, NodeLink } from '../runtime.js';
import { clipped } from '../text.js';
import { type AskedTopic, Branch } from './branch.js';
import { readBranch } from './branch-reader.js';
import type { BrokerAddress, BrokerConnection, BrokerMessage, BrokerOptions } from './broker.js';
import { brokerAddress } from './broker-address.js';
import { clientIdOf, otherClaimant } from './node-identity.js';
import { OFFLINE, OwnTopics } from './own-topics.js';
import type { InterfaceAddresses } from './reach.js';
import { RetainedTopics } from './retained-topics.js';
import { Serving } from './serving.js';

/** A connection that lasted this long was good: after it the first attempt is made at once. */
const STEADY_MS = 10_000;
/** A branch that another node owns is checked again after this time (docs/home-assistant.md, "Two nodes with one branch"). */
const OCCUPIED_MS = 60_000;
/** State that is not published as a record is asked for again after this time (docs/home-assistant.md, "Topics"). */
const ASK_AGAIN_MS = 600_000;

/** Bounds for the topics that are named in `/health` and in the log. */
const LEFT_OUT_NAMED_MAX = 3;
const LEFT_OUT_CHARS_MAX = 512;

export interface BridgeParts {
  readonly settings: MqttSettings;
  readonly node: NodeLink;
  readonly clock: Clock;
  /** Undefined while the machine has no id. */
  readonly identifier: () => string | undefined;
  readonly dial: (options: BrokerOptions) => BrokerConnection;
  readonly interfaces: () => InterfaceAddresses;
}

/** Why an attempt has ended, and how long to wait; without `waitMs` the wait grows each time. */
interface Attempt {
  readonly reason: string;
  readonly waitMs?: number;
}

export class MqttBridge implements BridgeActor {
  readonly #parts: BridgeParts;
  readonly #branch: Branch;
  readonly #states: RetainedTopics;
  readonly #timers: Timers<'wait' | 'ask'>;
  /** Distinguishes this process from others. */
  readonly #instance: string;
  /** Set once the machine has an id. */
  #topics: OwnTopics | undefined;
  #serving: Serving | undefined;
  #connection: BrokerConnection | undefined;
  #life: Promise<void> | undefined;
  #endWait: () => void = () => undefined;
  #isStopped = false;
  #reason = '';

  constructor(parts: BridgeParts) {
    this.#parts = parts;
    this.#timers = new Timers(parts.clock);
    this.#instance = parts.clock.random().toString(36).slice(2);
    this.#states = new RetainedTopics((topic, heldAt) => this.#topics?.wanted(topic, heldAt));
    this.#branch = new Branch({
      touched: (topic) => this.#touch((topics) => topics.full(topic)),
      membersTouched: () => this.#touch((topics) => topics.device),
      stateChanged: (child, state) => this.#stateChanged(child, state),
    });
  }

  applyChanges(batch: ChangeBatch): void {
    this.#branch.applyChanges(batch);
    for (const change of batch.changes) {
      if (change.kind === 'put' && SPECS[change.collection].keeps === 'each') {
        const type = JSON.stringify(SPECS[change.collection].updated);
        this.#serving?.publishPassing('event', `{"event":${type},"data":${change.json}}`);
      }
    }
    this.#serving?.pump();
    // Nothing is published before the first batch, which holds all records.
    this.#life ??= this.#live();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timers.cancelAll();
    this.#endWait();
    await this.#serving?.close();
    this.#connection?.cut('the service ends');
    await this.#life;
  }

  async #live(): Promise<void> {
    for (let attempt = 1; !this.#isStopped; attempt += 1) {
      const { reason, waitMs } = await this.#attempt();
      if (this.#isStopped) return;
      this.#reportAway(reason);
      if (waitMs !== undefined) attempt = 0;
      await this.#wait(waitMs ?? backoffMs(attempt, this.#parts.clock.random()));
    }
  }

  async #attempt(): Promise<Attempt> {
    const { settings, interfaces, identifier: identifierNow } = this.#parts;
    const identifier = identifierNow();
    if (identifier === undefined) return { reason: 'the machine has no id in /etc/machine-id' };
    this.#topics ??= new OwnTopics(settings, identifier, this.#branch, interfaces);
    const read = await brokerAddress(settings, this.#parts.clock);
    if (!read.ok) return read;
    const clientId = clientIdOf(identifier, settings.topic);
    const own = { identifier, instance: this.#instance };
    const look = await readBranch({
      ...{ clock: this.#parts.clock, topics: this.#topics, identifier },
      dial: this.#dialler(read.address, `${clientId}-look`),
      claimedBy: (claim) => otherClaimant(claim, own),
    });
    if (!look.ok) return look;
    if (look.owner !== undefined) return { reason: look.owner, waitMs: OCCUPIED_MS };
    const held = new Map([...look.held].map(([topic, { text }]) => [topic, text]));
    // Published once more, so that the retained status carries this process's instance.
    if (this.#topics.claimIn(look.held).instance !== this.#instance) held.delete(this.#topics.status);
    this.#states.begin(held);
    return this.#isStopped ? { reason: '' } : this.#serve(this.#topics, read.address, clientId);
  }

  async #serve(topics: OwnTopics, address: BrokerAddress, clientId: string): Promise<Attempt> {
    const { settings, node, clock } = this.#parts;
    let settledAt = Number.POSITIVE_INFINITY;
    const named = new Set<string>();
    this.#serving = new Serving({
      ...{ node, clock, topics, states: this.#states, control: settings.control },
      dial: this.#dialler(address, clientId, { topic: topics.status, text: OFFLINE }),
      onSettled: (leftOut) => {
        const isNews = settledAt === Number.POSITIVE_INFINITY || leftOut.some((topic) => !named.has(topic));
        for (const topic of leftOut) named.add(topic);
        settledAt = Math.min(settledAt, clock.monotonic());
        this.#reportServed(leftOut, isNews);
      },
    });
    this.#askAll();
    const reason = await this.#serving.run();
    this.#serving = undefined;
    this.#timers.cancel('ask');
    return clock.monotonic() - settledAt >= STEADY_MS ? { reason, waitMs: 0 } : { reason };
  }

  #dialler(
    address: BrokerAddress,
    clientId: string,
    will?: BrokerOptions['will'],
  ): (onMessage: (message: BrokerMessage) => void) => BrokerConnection {
    const { dial, clock } = this.#parts;
    return (onMessage) => {
      this.#connection = dial({
        ...address,
        instance: this.#instance,
        clientId,
        clock,
        onMessage: (message) => {
          if (this.#topics?.isOwn(message.topic)) onMessage(message);
        },
        ...(will !== undefined && { will }),
      });
      return this.#connection;
    };
  }

  /** Asks for state that is not published as a record. */
  #askAll(): void {
    void this.#refresh('server');
    if (this.#branch.stateOf('power') === 'up') void this.#refresh('power');
    // If all addresses are listened on, address changes are not published.
    this.#touch((topics) => topics.device);
    this.#serving?.pump();
    this.#timers.set('ask', ASK_AGAIN_MS, () => this.#askAll());
  }

  async #refresh(topic: AskedTopic): Promise<void> {
    const { status, body } = await this.#parts.node.ask({ operation: topic });
    if (status !== 200) return;
    this.#branch.answered(topic, body);
    this.#serving?.pump();
  }

  #stateChanged(child: ChildName, state: BackendState): void {
    if (this.#serving === undefined || state !== 'up') return;
    // Topics of records that did not come back can be removed now.
    this.#states.touchHeld();
    if (child === 'power') void this.#refresh('power');
  }

  #touch(topicOf: (topics: OwnTopics) => string): void {
    if (this.#topics !== undefined) this.#serving?.touch(topicOf(this.#topics));
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#endWait = resolve;
      this.#timers.set('wait', ms, resolve);
    });
  }

  /** `isNews`: also write a log line. */
  #reportServed(leftOut: readonly string[], isNews: boolean): void {
    const { node } = this.#parts;
    this.#reason = '';
    if (leftOut.length === 0) {
      node.status('up');
      if (isNews) node.log('info', 'the broker has the whole state of this node');
      return;
    }
    const more =
      leftOut.length > LEFT_OUT_NAMED_MAX ? ` and ${leftOut.length - LEFT_OUT_NAMED_MAX} more` : '';
    const names = clipped(leftOut.slice(0, LEFT_OUT_NAMED_MAX).join(', '), LEFT_OUT_CHARS_MAX);
    const reason = `too large for the broker, so left out: ${names}${more}`;
    node.status('up', reason);
    if (isNews) node.log('warn', 'the broker holds only a part of the state of this node', { reason });
  }

  /** One line per change of state, never per attempt. */
  #reportAway(reason: string): void {
    if (reason === this.#reason) return;
    this.#reason = reason;
    this.#parts.node.status('connecting', reason);
    this.#parts.node.log('warn', 'not connected to the broker', { reason });
  }
}
