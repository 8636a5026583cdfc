// Subscribes to topics on one connection to the broker, and decides which of the broker's refusals are
// reported.

import type { TopicRefusal } from './acknowledgement.js';
import type { BrokerConnection } from './broker.js';
import type { LeftOut } from './retained-topics.js';

type SubscribeOptions = Parameters<BrokerConnection['subscribe']>[1];

interface RefusedSubscription {
  /** The broker's reason. */
  readonly reason: string;
  readonly options: SubscribeOptions;
}

export class Subscriptions {
  readonly #connection: Pick<BrokerConnection, 'subscribe' | 'unsubscribe'>;
  readonly #onChange: () => void;
  /** The subscriptions that the broker refuses, by topic filter: a topic, or a pattern of topics. */
  readonly #refused = new Map<string, RefusedSubscription>();
  #watchedStatusTopic = '';

  /** `onChange` is called when `refused` gets an entry, and when a retry removes one. */
  constructor(connection: Pick<BrokerConnection, 'subscribe' | 'unsubscribe'>, onChange: () => void) {
    this.#connection = connection;
    this.#onChange = onChange;
  }

  get refused(): readonly LeftOut[] {
    return [...this.#refused].map(([topic, { reason }]) => ({ topic, reason }));
  }

  /**
   * The status topic of another node that owns this node's device in Home Assistant; '' if no other node owns
   * the device.
   */
  get watchedStatus(): string {
    return this.#watchedStatusTopic;
  }

  /** Resolves to false if the connection has ended, and to true even if the broker refuses topics. */
  async subscribe(topicFilters: readonly string[], options: SubscribeOptions): Promise<boolean> {
    const answer = await this.#connection.subscribe(topicFilters, options);
    if (answer.ok) return true;
    if (answer.error.kind === 'ended') return false;
    this.#addRefusal(answer.error, options);
    return true;
  }

  #addRefusal({ topics, reason }: TopicRefusal, options: SubscribeOptions): void {
    for (const topicFilter of topics) this.#refused.set(topicFilter, { reason, options });
    this.#onChange();
  }

  /** Requests the refused subscriptions once more, because the broker's access list may have changed. */
  retryRefused(): void {
    for (const [topicFilter, { options }] of this.#refused) void this.#retry(topicFilter, options);
  }

  async #retry(topicFilter: string, options: SubscribeOptions): Promise<void> {
    const answer = await this.#connection.subscribe([topicFilter], options);
    // `watchStatus` may have deleted the refusal meanwhile. Then there is no change to report.
    if (answer.ok && this.#refused.delete(topicFilter)) this.#onChange();
  }

  /** Watches `statusTopic` instead of the earlier status topic. '' means that no status is to be watched. */
  watchStatus(statusTopic: string): void {
    if (statusTopic === this.#watchedStatusTopic) return;
    if (this.#watchedStatusTopic !== '') void this.#connection.unsubscribe([this.#watchedStatusTopic]);
    this.#refused.delete(this.#watchedStatusTopic);
    this.#watchedStatusTopic = statusTopic;
    if (statusTopic !== '') void this.#subscribeToStatus(statusTopic);
  }

  async #subscribeToStatus(statusTopic: string): Promise<void> {
    const options = { qos: 1 } as const;
    const answer = await this.#connection.subscribe([statusTopic], options);
    const isRefused = !answer.ok && answer.error.kind === 'refused';
    // A refusal matters to nobody if the status is no longer watched.
    if (isRefused && statusTopic === this.#watchedStatusTopic) this.#addRefusal(answer.error, options);
  }
}
