// The bridge to an MQTT broker: finds out which node owns the branch (probe.ts), serves the branch
// (serving.ts), and connects again after every loss. The package `mqtt` could reconnect by itself, but it has
// no growing pause, does not read the files anew, and would not probe the branch first.

import { networkInterfaces, userInfo } from 'node:os';
import { backoffMs, type Clock, systemClock, Timers } from '../../host/clock.js';
import { bestFirst, type InterfaceAddresses } from '../../host/own-addresses.js';
import { SPECS } from '../../protocol/actor/collections.js';
import type { ChangeBatch } from '../../protocol/actor/messages.js';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import { type BridgeActor, bridgeThread, type NodeLink } from '../runtime.js';
import { clipped } from '../text.js';
import { Branch, type PolledTopic } from './branch.js';
import { type BrokerConnection, type BrokerOptions, MqttConnection } from './broker.js';
import { type BrokerAddress, brokerAddress } from './broker-address.js';
import { probe } from './probe.js';
import { type LeftOut, OFFLINE, RetainedTopics } from './retained-topics.js';
import { Serving } from './serving.js';
import { clientIdOf, cloneText, readIdentifier } from './topics.js';

/** A connection that lasted this long was good: after it the first attempt is made at once. */
const STEADY_MS = 10_000;
/**
 * A branch that another node owns is checked again after this time (docs/home-assistant.md, "Two nodes with
 * one branch").
 */
const OCCUPIED_MS = 60_000;
/**
 * State that no backend publishes as a record is polled after this time (docs/home-assistant.md, "Topics").
 */
const POLL_EVERY_MS = 600_000;

/** The beginning of the reason when the broker refuses this name and password. */
const REFUSED = /^Connection refused/;

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
  readonly #branch = new Branch();
  readonly #timers: Timers<'wait' | 'poll'>;
  /** Set once the machine has an id. */
  #topics: RetainedTopics | undefined;
  #serving: Serving | undefined;
  #connection: BrokerConnection | undefined;
  #life: Promise<void> | undefined;
  #endWait: () => void = () => undefined;
  #isStopped = false;
  #reason = '';
  /** The oddities of the password file that have been logged. */
  #oddities: string | undefined;

  constructor(parts: BridgeParts) {
    this.#parts = parts;
    this.#timers = new Timers(parts.clock);
  }

  applyChanges(batch: ChangeBatch): void {
    const before = this.#branch.stateOf('power');
    this.#branch.applyChanges(batch);
    for (const change of batch.changes) {
      const { keeps, updated } = SPECS[change.collection];
      if (change.kind === 'put' && keeps === 'each')
        this.#serving?.publishPassing('event', `{"event":${JSON.stringify(updated)},"data":${change.json}}`);
    }
    this.#serving?.changed();
    if (before !== 'up' && this.#serving !== undefined) this.#pollPower();
    // The first batch has all records, so nothing is published before it.
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
    const { settings, interfaces, clock } = this.#parts;
    const identifier = this.#parts.identifier();
    if (identifier === undefined) return { reason: 'the machine has no id in /etc/machine-id' };
    this.#topics ??= new RetainedTopics(settings, identifier, this.#branch, interfaces);
    const read = await brokerAddress(settings, clock);
    if (!read.ok) return { reason: read.error };
    const { oddities } = read.value;
    this.#logOddities(oddities);
    const clientId = clientIdOf(identifier, settings.topic);
    const probed = await probe(this.#topics, clock, this.#dialler(read.value, `${clientId}-look`));
    if (!probed.ok) {
      const { kind, reason } = probed.error;
      if (kind === 'occupied') return { reason, waitMs: OCCUPIED_MS };
      const hint = oddities !== undefined && REFUSED.test(reason) ? ` (${oddities})` : '';
      return { reason: `${reason}${hint}` };
    }
    this.#topics.begin(probed.value.retained, probed.value.deviceOwner);
    return this.#isStopped ? { reason: '' } : this.#serve(this.#topics, read.value, clientId);
  }

  async #serve(topics: RetainedTopics, address: BrokerAddress, clientId: string): Promise<Attempt> {
    const { settings, node, clock } = this.#parts;
    let settledAt = Number.POSITIVE_INFINITY;
    /** Topics and texts that have been logged on this connection. */
    const logged = new Set<string>();
    this.#serving = new Serving({
      node,
      clock,
      topics,
      control: settings.control,
      dial: this.#dialler(address, clientId, { topic: topics.status, text: OFFLINE }),
      onSettled: (leftOut) => {
        settledAt = Math.min(settledAt, clock.monotonic());
        this.#reportServed(topics, leftOut, logged);
      },
    });
    this.#pollAll();
    const reason = await this.#serving.run();
    this.#serving = undefined;
    this.#timers.cancel('poll');
    return clock.monotonic() - settledAt >= STEADY_MS ? { reason, waitMs: 0 } : { reason };
  }

  #dialler(address: BrokerAddress, clientId: string, will?: BrokerOptions['will']) {
    const { dial, clock } = this.#parts;
    return (onMessage: BrokerOptions['onMessage']): BrokerConnection => {
      const more = will === undefined ? {} : { will };
      this.#connection = dial({ ...address, clientId, clock, onMessage, ...more });
      return this.#connection;
    };
  }

  /** Requests the state that no backend publishes as a record, and has the interfaces read again. */
  #pollAll(): void {
    void this.#poll('server');
    this.#pollPower();
    this.#topics?.rebuildDevice();
    this.#topics?.forgetRefusals();
    this.#serving?.changed();
    this.#timers.set('poll', POLL_EVERY_MS, () => this.#pollAll());
  }

  #pollPower(): void {
    if (this.#branch.stateOf('power') === 'up') void this.#poll('power');
  }

  async #poll(topic: PolledTopic): Promise<void> {
    const { status, body } = await this.#parts.node.ask({ operation: topic });
    if (status !== 200) return;
    this.#branch.polled.set(topic, body);
    this.#serving?.changed();
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#endWait = resolve;
      this.#timers.set('wait', ms, resolve);
    });
  }

  /** A topic that is left out, or the other node's device, is logged once in each connection. */
  #reportServed(topics: RetainedTopics, leftOut: readonly LeftOut[], logged: Set<string>): void {
    const { node } = this.#parts;
    this.#reason = '';
    const { deviceOwner } = topics;
    const clone = deviceOwner === undefined ? [] : [cloneText(deviceOwner)];
    const reason = [...clone, ...leftOutTexts(leftOut)].join('; ');
    if (reason === '') node.status('up');
    else node.status('up', reason);
    const news = [...clone, ...leftOut.map(({ topic }) => topic)].filter((each) => !logged.has(each));
    for (const each of news) logged.add(each);
    if (news.length > 0)
      node.log('warn', 'the broker holds only a part of the state of this node', { reason });
  }

  /** The file is read for each connection, but the same oddities are logged once. */
  #logOddities(oddities: string | undefined): void {
    if (oddities !== undefined && oddities !== this.#oddities)
      this.#parts.node.log('warn', 'the password may not be the one that is meant', { reason: oddities });
    this.#oddities = oddities;
  }

  #reportAway(reason: string): void {
    if (reason === this.#reason) return;
    this.#reason = reason;
    this.#parts.node.status('connecting', reason);
  }
}

export default bridgeThread<'mqtt'>(
  (settings, node) =>
    new MqttBridge({
      settings,
      node,
      clock: systemClock,
      dial: (options) => new MqttConnection(options),
      interfaces: interfacesNow,
      identifier: () => readIdentifier(userInfo().uid),
    }),
);

/** Names the topics that are left out, by their reason. */
function leftOutTexts(leftOut: readonly LeftOut[]): readonly string[] {
  const reasons = new Set(leftOut.map(({ reason }) => reason));
  return [...reasons].map((reason) => {
    const topics = leftOut.filter((each) => each.reason === reason).map(({ topic }) => topic);
    const beyond = topics.length - LEFT_OUT_NAMED_MAX;
    const more = beyond > 0 ? ` and ${beyond} more` : '';
    const names = clipped(topics.slice(0, LEFT_OUT_NAMED_MAX).join(', '), LEFT_OUT_CHARS_MAX);
    return `${reason}, so left out: ${names}${more}`;
  });
}

/** Empty if the system call fails, as without a free descriptor; the addresses are read again later. */
function interfacesNow(): InterfaceAddresses {
  try {
    return bestFirst(networkInterfaces());
  } catch {
    return {};
  }
}
