// Makes the subscriptions of one connection, and decides which refusals of them are reported.

import type { BrokerConnection } from './broker.js';
import type { LeftOut } from './retained-topics.js';

export class Subscriptions {
  readonly #connection: Pick<BrokerConnection, 'subscribe' | 'unsubscribe'>;
  readonly #onRefusal: () => void;
  /** The broker's reasons, by the filters of the subscriptions that it refuses. */
  readonly #refused = new Map<string, string>();
  #watchedStatus = '';

  /** `onRefusal`: called when `refused` has a new topic. */
  constructor(connection: Pick<BrokerConnection, 'subscribe' | 'unsubscribe'>, onRefusal: () => void) {
    this.#connection = connection;
    this.#onRefusal = onRefusal;
  }

  get refused(): readonly LeftOut[] {
    return [...this.#refused].map(([topic, reason]) => ({ topic, reason }));
  }

  /** The status topic of another node that owns the device; '' for none. */
  get watchedStatus(): string {
    return this.#watchedStatus;
  }

  /** False if the connection has ended. */
  async subscribe(...request: Parameters<BrokerConnection['subscribe']>): Promise<boolean> {
    const answer = await this.#connection.subscribe(...request);
    if (answer.ok) return true;
    if (answer.error.kind === 'ended') return false;
    for (const filter of answer.error.topics) this.#refused.set(filter, answer.error.reason);
    this.#onRefusal();
    return true;
  }

  /** Subscribes to this status topic, and ends the subscription to the topic before it; '' for none. */
  watchStatus(status: string): void {
    if (status === this.#watchedStatus) return;
    if (this.#watchedStatus !== '') void this.#connection.unsubscribe([this.#watchedStatus]);
    this.#refused.delete(this.#watchedStatus);
    this.#watchedStatus = status;
    if (status !== '') void this.#subscribeToStatus(status);
  }

  async #subscribeToStatus(status: string): Promise<void> {
    await this.subscribe([status], { qos: 1 });
    // If another status is watched by now, a refusal of this one is not reported.
    if (status !== this.#watchedStatus) this.#refused.delete(status);
  }
}
