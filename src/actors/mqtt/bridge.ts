// The bridge to an MQTT broker decides when to connect. In each attempt it finds out which node owns the
// branch (probe.ts), and serves the branch until the connection is lost (serving.ts). The package `mqtt`
// could reconnect by itself, but its pause does not grow, and it would neither read the password's file anew
// nor probe the branch first.

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

/** After a connection that has served the whole branch for this long, the next attempt is made at once. */
const STEADY_MS = 10_000;
/**
 * While another node owns the branch, the bridge asks again after this time (docs/home-assistant.md, "Two
 * nodes with one branch").
 */
const OCCUPIED_MS = 60_000;
/**
 * How often the bridge asks for state that no backend publishes as a record (docs/home-assistant.md,
 * "Topics").
 */
const POLL_EVERY_MS = 600_000;

/**
 * The beginning of the package's error when the broker does not accept the connection, for instance because
 * of the password.
 */
const CONNECTION_REFUSED = /^Connection refused/;

/** How many of the topics that are left out for one reason are named in `/health` and in the log. */
const LEFT_OUT_NAMED_MAX = 3;
/** UTF-16 units of these names together. A longer text is cut. */
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

interface EndOfAttempt {
  /** For people: why the bridge is not connected. */
  readonly reason: string;
  /** The pause before the next attempt. If absent, the pause grows with each such attempt. */
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
  /** The attempts, one after the other. They end after `stop`. */
  #attempts: Promise<void> | undefined;
  #endWait: () => void = () => undefined;
  #isStopped = false;
  /** The reason for being away that was reported last; '' while the branch is served. */
  #reportedReason = '';
  /** The oddities of the password file that were logged last. */
  #loggedOddities: string | undefined;

  constructor(parts: BridgeParts) {
    this.#parts = parts;
    this.#timers = new Timers(parts.clock);
  }

  applyChanges(batch: ChangeBatch): void {
    const wasPowerUp = this.#branch.stateOf('power') === 'up';
    this.#branch.applyChanges(batch);
    for (const change of batch.changes) {
      const { keeps, updated } = SPECS[change.collection];
      if (change.kind === 'put' && keeps === 'actions')
        this.#serving?.publishPassing('event', `{"event":${JSON.stringify(updated)},"data":${change.json}}`);
    }
    this.#serving?.changed();
    if (!wasPowerUp && this.#serving !== undefined) this.#pollPower();
    // Nothing may be published before the first batch, which has all records.
    this.#attempts ??= this.#attemptUntilStopped();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timers.cancelAll();
    this.#endWait();
    await this.#serving?.close();
    this.#connection?.cut('the service ends');
    await this.#attempts;
  }

  async #attemptUntilStopped(): Promise<void> {
    let failures = 0;
    while (!this.#isStopped) {
      const { reason, waitMs } = await this.#attempt();
      if (this.#isStopped) return;
      this.#reportAway(reason);
      failures = waitMs === undefined ? failures + 1 : 0;
      await this.#wait(waitMs ?? backoffMs(failures, this.#parts.clock.random()));
    }
  }

  async #attempt(): Promise<EndOfAttempt> {
    const { settings, interfaces, clock } = this.#parts;
    const identifier = this.#parts.identifier();
    if (identifier === undefined) return { reason: 'the machine has no id in /etc/machine-id' };
    this.#topics ??= new RetainedTopics(settings, identifier, this.#branch, interfaces);
    const address = await brokerAddress(settings, clock);
    if (!address.ok) return { reason: address.error };
    const { oddities } = address.value;
    this.#logOddities(oddities);
    // A slow disk may have answered only after `stop`, which ends no connection that is dialled later.
    if (this.#isStopped) return { reason: '' };
    const clientId = clientIdOf(identifier, settings.topic);
    const probed = await probe(this.#topics, clock, this.#dialler(address.value, `${clientId}-look`));
    if (!probed.ok) {
      const { kind, reason } = probed.error;
      if (kind === 'occupied') return { reason, waitMs: OCCUPIED_MS };
      const hasHint = oddities !== undefined && CONNECTION_REFUSED.test(reason);
      return { reason: hasHint ? `${reason} (${oddities})` : reason };
    }
    this.#topics.begin(probed.value.retained, probed.value.deviceOwner);
    return this.#isStopped ? { reason: '' } : this.#serve(this.#topics, address.value, clientId);
  }

  async #serve(topics: RetainedTopics, address: BrokerAddress, clientId: string): Promise<EndOfAttempt> {
    const { settings, node, clock } = this.#parts;
    /** When the broker had the whole branch for the first time, in monotonic ms. */
    let settledAt = Number.POSITIVE_INFINITY;
    /**
     * Topics that are left out, and texts about devices of other nodes, as far as they were logged on this
     * connection.
     */
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
    const wasSteady = clock.monotonic() - settledAt >= STEADY_MS;
    return wasSteady ? { reason, waitMs: 0 } : { reason };
  }

  /** A function that dials, and keeps the connection so that `stop` can end it. */
  #dialler(address: BrokerAddress, clientId: string, will?: BrokerOptions['will']) {
    const { dial, clock } = this.#parts;
    return (onMessage: BrokerOptions['onMessage']): BrokerConnection => {
      const ownWill = will === undefined ? {} : { will };
      this.#connection = dial({ ...address, clientId, clock, onMessage, ...ownWill });
      return this.#connection;
    };
  }

  /**
   * Brings up to date what nobody announces: the polled topics, the addresses in the device message, and what
   * the broker's access list allows.
   */
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

  /**
   * Reports `up`, with what the broker does not have. This is logged only if a part of it was not logged on
   * this connection before.
   */
  #reportServed(topics: RetainedTopics, leftOut: readonly LeftOut[], logged: Set<string>): void {
    const { node } = this.#parts;
    this.#reportedReason = '';
    const { deviceOwner } = topics;
    const foreignDevice = deviceOwner === undefined ? [] : [cloneText(deviceOwner)];
    const reason = [...foreignDevice, ...leftOutTexts(leftOut)].join('; ');
    if (reason === '') node.status('up');
    else node.status('up', reason);
    const unpublished = [...foreignDevice, ...leftOut.map(({ topic }) => topic)];
    const isNew = unpublished.some((topicOrText) => !logged.has(topicOrText));
    for (const topicOrText of unpublished) logged.add(topicOrText);
    if (isNew) node.log('warn', 'the broker holds only a part of the state of this node', { reason });
  }

  /**
   * Logs oddities only if they are not those that were logged last, because the password's file is read for
   * each attempt to connect.
   */
  #logOddities(oddities: string | undefined): void {
    if (oddities !== undefined && oddities !== this.#loggedOddities)
      this.#parts.node.log('warn', 'the password may not be the one that is meant', { reason: oddities });
    this.#loggedOddities = oddities;
  }

  #reportAway(reason: string): void {
    if (reason === this.#reportedReason) return;
    this.#reportedReason = reason;
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

/** One text for each reason, with the topics that are left out for it. */
function leftOutTexts(leftOut: readonly LeftOut[]): readonly string[] {
  const topicsByReason = new Map<string, string[]>();
  for (const { topic, reason } of leftOut) {
    const topics = topicsByReason.get(reason) ?? [];
    topics.push(topic);
    topicsByReason.set(reason, topics);
  }
  return [...topicsByReason].map(([reason, topics]) => {
    const names = clipped(topics.slice(0, LEFT_OUT_NAMED_MAX).join(', '), LEFT_OUT_CHARS_MAX);
    const unnamed = topics.length - LEFT_OUT_NAMED_MAX;
    return `${reason}, so left out: ${names}${unnamed > 0 ? ` and ${unnamed} more` : ''}`;
  });
}

/**
 * Empty if the system call fails, for instance because no file descriptor is free. The next poll reads the
 * addresses again.
 */
function interfacesNow(): InterfaceAddresses {
  try {
    return bestFirst(networkInterfaces());
  } catch {
    return {};
  }
}
