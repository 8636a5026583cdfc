// Makes the subscriptions of one connection, and decides which refusals of them are reported.

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
  /** The subscriptions that the broker refuses, by their filters. */
  readonly #refused = new Map<string, RefusedSubscription>();
  #watchedStatus = '';

  /** `onChange` is called after a refusal, and when a refused subscription succeeds. */
  constructor(connection: Pick<BrokerConnection, 'subscribe' | 'unsubscribe'>, onChange: () => void) {
    this.#connection = connection;
    this.#onChange = onChange;
  }

  get refused(): readonly LeftOut[] {
    return [...this.#refused].map(([topic, { reason }]) => ({ topic, reason }));
  }

  /** The status topic of the other node that owns the device of Home Assistant; '' if there is none. */
  get watchedStatus(): string {
    return this.#watchedStatus;
  }

  /** False if the connection has ended; true even if the broker refuses topics. */
  async subscribe(filters: readonly string[], options: SubscribeOptions): Promise<boolean> {
    const answer = await this.#connection.subscribe(filters, options);
    if (answer.ok) return true;
    if (answer.error.kind === 'ended') return false;
    this.#addRefusal(answer.error, options);
    return true;
  }

  #addRefusal({ topics, reason }: TopicRefusal, options: SubscribeOptions): void {
    for (const filter of topics) this.#refused.set(filter, { reason, options });
    this.#onChange();
  }

  /** Requests the refused subscriptions once more, because the broker's access list may have changed. */
  retryRefused(): void {
    for (const [filter, { options }] of this.#refused) void this.#retry(filter, options);
  }

  async #retry(filter: string, options: SubscribeOptions): Promise<void> {
    const answer = await this.#connection.subscribe([filter], options);
    // `watchStatus` may have forgotten the refusal meanwhile. Then nothing changes.
    if (answer.ok && this.#refused.delete(filter)) this.#onChange();
  }

  /** Subscribes to this status topic in place of the one before; '' if none is to be watched. */
  watchStatus(statusTopic: string): void {
    if (statusTopic === this.#watchedStatus) return;
    if (this.#watchedStatus !== '') void this.#connection.unsubscribe([this.#watchedStatus]);
    this.#refused.delete(this.#watchedStatus);
    this.#watchedStatus = statusTopic;
    if (statusTopic !== '') void this.#subscribeToStatus(statusTopic);
  }

  async #subscribeToStatus(statusTopic: string): Promise<void> {
    const options = { qos: 1 } as const;
    const answer = await this.#connection.subscribe([statusTopic], options);
    const isRefused = !answer.ok && answer.error.kind === 'refused';
    // A refusal matters to nobody if the status is no longer watched.
    if (isRefused && statusTopic === this.#watchedStatus) this.#addRefusal(answer.error, options);
  }
}
