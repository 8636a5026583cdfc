// Decides when the node connects to an MQTT broker. Each attempt finds out whether this node may serve its
// branch of topics (probe.ts). If so, the node serves the branch until the connection is lost (serving.ts).

import { hostname, networkInterfaces, userInfo } from 'node:os';
import { backoffMs, type Clock, systemClock, Timers } from '../../host/clock.js';
import { bestFirst, type InterfaceAddresses } from '../../host/own-addresses.js';
import { COLLECTION_SPECS } from '../../protocol/actor/collections.js';
import type { ChangeBatch } from '../../protocol/actor/messages.js';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import { type BridgeActor, bridgeThread, type NodeLink } from '../runtime.js';
import { Branch, type PolledTopic } from './branch.js';
import { type BrokerConnection, type BrokerOptions, MqttConnection } from './broker.js';
import { type BrokerAddress, brokerAddress } from './broker-address.js';
import { leftOutTexts } from './left-out-texts.js';
import { probe } from './probe.js';
import { type LeftOut, OFFLINE, RetainedTopics } from './retained-topics.js';
import { Serving } from './serving.js';
import { clientIdOf, cloneText, readIdentifier } from './topics.js';

/** After a connection that has served the whole branch for this long, the next attempt is made at once. */
const STEADY_MS = 10_000;
/**
 * If another node owns the branch, the bridge waits for this time before the next attempt
 * (docs/home-assistant.md, "Two nodes with one branch").
 */
const OCCUPIED_PAUSE_MS = 60_000;
/**
 * How often the bridge asks for state that no backend publishes as a record (docs/home-assistant.md,
 * "Topics").
 */
const POLL_EVERY_MS = 600_000;
/** The wait after a poll that has failed. */
const POLL_AGAIN_MS = 30_000;

/**
 * If the broker refuses the connection, the error of the package `mqtt` begins with these words. The broker's
 * reason follows them: `Connection refused: Not authorized`.
 */
const CONNECTION_REFUSED = /^Connection refused/;

export interface BridgeParts {
  readonly settings: MqttSettings;
  readonly node: NodeLink;
  readonly clock: Clock;
  /** Returns the node's identifier; undefined while the machine has no id. */
  readonly identifier: () => string | undefined;
  readonly dial: (options: BrokerOptions) => BrokerConnection;
  readonly interfaces: () => InterfaceAddresses;
  readonly hostname: () => string;
}

interface EndOfAttempt {
  /**
   * `steady`: the branch was served for `STEADY_MS` or longer, and the next attempt is made at once.
   * `occupied`: another node owns the branch.
   * `failed`: anything else. The pause grows with each failure.
   */
  readonly kind: 'steady' | 'occupied' | 'failed';
  /** For people: why the bridge is not connected. */
  readonly reason: string;
}

function failedFor(reason: string): EndOfAttempt {
  return { kind: 'failed', reason };
}

export class MqttBridge implements BridgeActor {
  readonly #parts: BridgeParts;
  readonly #branch = new Branch();
  readonly #timers: Timers<'wait' | 'poll' | PolledTopic>;
  /** Undefined until the machine has an id. */
  #topics: RetainedTopics | undefined;
  #serving: Serving | undefined;
  #connection: BrokerConnection | undefined;
  /** Resolves after `stop`, when the last attempt has ended. Undefined until the first batch. */
  #attemptsEnded: Promise<void> | undefined;
  #endWait: () => void = () => undefined;
  #isStopped = false;
  /**
   * The last reported reason why the node is not connected; '' before the first report, and while the branch
   * is served.
   */
  #reportedReason = '';
  /** The oddities of the password's file at the last attempt; undefined if there were none. */
  #loggedPasswordOddities: string | undefined;
  /** The hostname and the enabled children at the last check. The answer to `server` depends on them. */
  #serverFacts = '';

  constructor(parts: BridgeParts) {
    this.#parts = parts;
    this.#timers = new Timers(parts.clock);
  }

  applyChanges(batch: ChangeBatch): void {
    const wasPowerUp = this.#branch.stateOf('power') === 'up';
    this.#branch.applyChanges(batch);
    for (const change of batch.changes) {
      const { keeps, updated: eventType } = COLLECTION_SPECS[change.collection];
      // An action is no state, so it becomes an event in a message that the broker does not retain. The
      // member `updated` of `COLLECTION_SPECS` is the type of the event, such as `power.action`.
      if (change.kind === 'put' && keeps === 'actions') {
        const event = `{"event":${JSON.stringify(eventType)},"data":${change.json}}`;
        this.#serving?.publishPassing('event', event);
      }
    }
    this.#serving?.changed();
    const isPowerUp = this.#branch.stateOf('power') === 'up';
    if (isPowerUp && !wasPowerUp && this.#serving !== undefined) void this.#poll('power');
    this.#pollServerIfChanged();
    // Nothing may be published before the first batch, which has all records.
    this.#attemptsEnded ??= this.#attemptUntilStopped();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timers.cancelAll();
    this.#endWait();
    await this.#serving?.close();
    this.#connection?.cut('the service ends');
    await this.#attemptsEnded;
  }

  /**
   * The bridge itself reconnects, although the package `mqtt` could. The package's pause does not grow, and
   * the package would neither read the password's file again nor probe the branch.
   */
  async #attemptUntilStopped(): Promise<void> {
    let failures = 0;
    while (!this.#isStopped) {
      const { kind, reason } = await this.#attempt();
      if (this.#isStopped) return;
      this.#reportAway(reason);
      failures = kind === 'failed' ? failures + 1 : 0;
      const pausesMs = {
        steady: 0,
        occupied: OCCUPIED_PAUSE_MS,
        failed: backoffMs(failures, this.#parts.clock.random()),
      };
      await this.#wait(pausesMs[kind]);
    }
  }

  async #attempt(): Promise<EndOfAttempt> {
    const { settings, interfaces, clock } = this.#parts;
    const identifier = this.#parts.identifier();
    if (identifier === undefined) return failedFor('the machine has no id in /etc/machine-id');
    this.#topics ??= new RetainedTopics(settings, identifier, this.#branch, interfaces);
    const address = await brokerAddress(settings, clock);
    if (!address.ok) return failedFor(address.error);
    const { passwordOddities } = address.value;
    this.#logPasswordOddities(passwordOddities);
    // A slow disk may deliver the password's file only after `stop`. Nothing would end a connection that
    // begins then.
    if (this.#isStopped) return failedFor('the service ends');
    const clientId = clientIdOf(identifier, settings.topic);
    // Another node may have this node's identifier and topic, and so the same `clientId`. If the probe used
    // this id, the broker would end that node's connection (`clientIdOf`), and the probe would find nobody.
    const probed = await probe(this.#topics, clock, this.#dialler(address.value, `${clientId}-probe`));
    if (!probed.ok) {
      const { kind, reason } = probed.error;
      if (kind === 'occupied') return { kind, reason };
      const isPasswordSuspect = passwordOddities !== undefined && CONNECTION_REFUSED.test(reason);
      return failedFor(isPasswordSuspect ? `${reason} (${passwordOddities})` : reason);
    }
    const { retained, otherDeviceOwner, isLeftover } = probed.value;
    this.#topics.beginConnection(retained, otherDeviceOwner, isLeftover);
    if (this.#isStopped) return failedFor('the service ends');
    return this.#serve(this.#topics, address.value, clientId);
  }

  async #serve(topics: RetainedTopics, address: BrokerAddress, clientId: string): Promise<EndOfAttempt> {
    const { settings, node, clock } = this.#parts;
    /** When the branch was first published on this connection, in monotonic ms; infinite until then. */
    let settledAtMs = Number.POSITIVE_INFINITY;
    /**
     * The items that were logged since this connection began: topics that are left out, and the text about
     * another owner of the device message.
     */
    const loggedItems = new Set<string>();
    this.#serving = new Serving({
      node,
      clock,
      topics,
      control: settings.control,
      dial: this.#dialler(address, clientId, { topic: topics.statusTopic, text: OFFLINE }),
      onSettled: (leftOut) => {
        settledAtMs = Math.min(settledAtMs, clock.monotonic());
        this.#reportServed(topics, leftOut, loggedItems);
      },
    });
    this.#pollAll();
    const reason = await this.#serving.run();
    this.#serving = undefined;
    this.#timers.cancelAll();
    const wasSteady = clock.monotonic() - settledAtMs >= STEADY_MS;
    return { kind: wasSteady ? 'steady' : 'failed', reason };
  }

  /** Returns a function that dials, and sets `#connection`, so that `stop` can end the connection. */
  #dialler(address: BrokerAddress, clientId: string, will?: BrokerOptions['will']) {
    const { dial, clock } = this.#parts;
    return (onMessage: BrokerOptions['onMessage']): BrokerConnection => {
      const willOption = will === undefined ? {} : { will };
      const onPong = (): void => this.#pollServerIfChanged();
      this.#connection = dial({ ...address, clientId, clock, onMessage, onPong, ...willOption });
      return this.#connection;
    };
  }

  /**
   * Repeats itself, because no event reports a change of the polled topics, of the addresses in the device
   * message, or of the broker's access list.
   */
  #pollAll(): void {
    void this.#poll('server');
    void this.#poll('power');
    this.#topics?.rebuildDeviceLater();
    this.#serving?.retryRefused();
    this.#timers.set('poll', POLL_EVERY_MS, () => this.#pollAll());
  }

  /**
   * Polls `server` if the hostname or the enabled children have changed. Nothing reports a change of the
   * hostname, so this function is called at moments when the thread runs anyway.
   */
  #pollServerIfChanged(): void {
    const facts = [this.#parts.hostname(), ...this.#branch.children].join();
    if (facts !== this.#serverFacts && this.#serving !== undefined) void this.#poll('server');
    this.#serverFacts = facts;
  }

  /** A polled topic has the same name as the operation that is its source. */
  async #poll(topic: PolledTopic): Promise<void> {
    if (topic === 'power' && this.#branch.stateOf('power') !== 'up') return;
    const { status, body } = await this.#parts.node.ask({ operation: topic });
    if (status === 200) {
      this.#branch.polled.set(topic, body);
      this.#serving?.changed();
    } else if (this.#serving !== undefined) {
      this.#timers.set(topic, POLL_AGAIN_MS, () => void this.#poll(topic));
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#endWait = resolve;
      this.#timers.set('wait', ms, resolve);
    });
  }

  /**
   * Reports `up`, and what the broker does not have. The report is logged only if it has an item that is not
   * in `loggedItems`.
   */
  #reportServed(topics: RetainedTopics, leftOut: readonly LeftOut[], loggedItems: Set<string>): void {
    const { node } = this.#parts;
    this.#reportedReason = '';
    const { otherDeviceOwner } = topics;
    const otherOwnerTexts = otherDeviceOwner === undefined ? [] : [cloneText(otherDeviceOwner)];
    const reason = [...otherOwnerTexts, ...leftOutTexts(leftOut)].join('; ');
    if (reason === '') node.status('up');
    else node.status('up', reason);
    const items = [...otherOwnerTexts, ...leftOut.map(({ topic }) => topic)];
    const hasNewItem = items.some((item) => !loggedItems.has(item));
    for (const item of items) loggedItems.add(item);
    if (hasNewItem) node.log('warn', 'the broker holds only a part of the state of this node', { reason });
  }

  /**
   * Each attempt reads the password's file (broker-address.ts), so the log gets the file's oddities only when
   * they have changed.
   */
  #logPasswordOddities(oddities: string | undefined): void {
    if (oddities !== undefined && oddities !== this.#loggedPasswordOddities)
      this.#parts.node.log('warn', 'the password may not be the one that is meant', { reason: oddities });
    this.#loggedPasswordOddities = oddities;
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
      hostname,
      identifier: () => readIdentifier(userInfo().uid),
    }),
);

/**
 * Empty if the system call fails, for instance if no descriptor is free. The interfaces are read again after
 * the next poll, or earlier.
 */
function interfacesNow(): InterfaceAddresses {
  try {
    return bestFirst(networkInterfaces());
  } catch {
    return {};
  }
}
