// Passes on what the children report: to the journal first, then to streams and bridges, so that a client
// that reads after an event finds the change.

import type { Clock } from '../host/clock.js';
import { type BackendHealth, type ChildName, healthWithReason } from '../protocol/actor/backends.js';
import type { BackendListener, BackendRecord, Change, ServedRecord } from '../protocol/actor/messages.js';
import type { BridgeFeeds } from './bridges.js';
import type { Documents } from './documents.js';
import type { EventHub } from './events/hub.js';
import type { Journal } from './journal.js';

interface Recipients {
  readonly journal: Journal;
  readonly documents: Documents;
  readonly hub: EventHub;
  readonly feeds: BridgeFeeds;
  readonly clock: Pick<Clock, 'date'>;
}

export class Intake implements BackendListener {
  readonly #recipients: Recipients;

  /** Publishes the health of every enabled child. */
  constructor(recipients: Recipients) {
    this.#recipients = recipients;
    this.changes(this.#healthChanges());
  }

  /**
   * Forgets the stopped children, with their records. `stopped` must have every child that is no longer
   * enabled. An enabled child is `connecting` if it was stopped, or was not enabled before. All this is
   * published in one step, so that a client that gets the removals also gets the new states of the children.
   */
  setEnabled(enabled: readonly ChildName[], stopped: readonly ChildName[]): void {
    const { documents, journal, feeds } = this.#recipients;
    const unchanged = [...documents.allHealth().keys()].filter((child) => !stopped.includes(child));
    documents.setEnabled(enabled, unchanged);
    const disabled = stopped.filter((child) => !enabled.includes(child));
    // A child that is still enabled needs no `forget`: the feed of its new thread replaces the old feed.
    for (const child of disabled) feeds.forget(child);
    this.changes([
      ...this.#healthChanges(),
      ...stopped.flatMap((child) => journal.allDrops(child)),
      ...disabled.map((key): Change => ({ kind: 'drop', collection: 'backends', key })),
    ]);
  }

  #healthChanges(): readonly Change[] {
    const children = this.#recipients.documents.allHealth();
    return [...children].map(([child, health]) => healthChange(child, health));
  }

  /** The constructor may call this function, because fields are set before the constructor's body runs. */
  readonly changes = (changes: readonly Change[]): void => {
    const { journal, hub, feeds, clock } = this.#recipients;
    const date = clock.date();
    const entries = journal.apply(changes, date);
    if (entries.length === 0) return;
    hub.publish(entries, date);
    feeds.sendNew(entries);
  };

  readonly level = (json: string): void => this.#recipients.hub.publishLevel(json);

  /**
   * Publishes health and removals in one step, so that a client that sees the removals also sees that the
   * backend is not up.
   */
  readonly health = (child: ChildName, health: BackendHealth): void => {
    const { documents, journal } = this.#recipients;
    documents.setHealth(child, health);
    const drops = health.state === 'up' ? [] : journal.dropsWhenAway(child);
    this.changes([healthChange(child, health), ...drops]);
  };

  publishServed(served: ServedRecord): void {
    this.changes([{ kind: 'put', collection: 'served', key: '', json: JSON.stringify(served) }]);
  }
}

function healthChange(backend: ChildName, health: BackendHealth): Change {
  const record: BackendRecord = { backend, ...healthWithReason(health) };
  return { kind: 'put', collection: 'backends', key: backend, json: JSON.stringify(record) };
}
