// Passes on what the children report. Changes go to the journal first, and then to streams and subscribers.
// So a client that gets an event, and then reads the record, finds the change.

import type { Clock } from '../host/clock.js';
import { type BackendHealth, type ChildName, healthWithReason } from '../protocol/actor/backends.js';
import type { BackendListener, BackendRecord, Change, ServedRecord } from '../protocol/actor/messages.js';
import type { SubscriberFeeds } from './bridges.js';
import type { Documents } from './documents.js';
import type { EventHub } from './events/hub.js';
import type { Journal } from './journal.js';

interface IntakeParts {
  readonly journal: Journal;
  readonly documents: Documents;
  readonly hub: EventHub;
  readonly feeds: SubscriberFeeds;
  readonly clock: Pick<Clock, 'date'>;
}

export class Intake implements BackendListener {
  readonly #parts: IntakeParts;

  /** Publishes the health of every enabled child. */
  constructor(parts: IntakeParts) {
    this.#parts = parts;
    this.changes(this.#healthChanges());
  }

  /**
   * Forgets the records of the children in `stopped`. Every child that is no longer enabled must be in
   * `stopped`, and its health is forgotten, too. An enabled child becomes `connecting` if it is in `stopped`,
   * or was not enabled before. All this is published in one step, so that a client that gets the removals
   * also gets the new states of the children.
   */
  setEnabled(enabled: readonly ChildName[], stopped: readonly ChildName[]): void {
    const { documents, journal, feeds } = this.#parts;
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
    const children = this.#parts.documents.allHealth();
    return [...children].map(([child, health]) => healthChange(child, health));
  }

  /** The constructor may call this function, because fields are set before the constructor's body runs. */
  readonly changes = (newChanges: readonly Change[]): void => {
    const { journal, hub, feeds, clock } = this.#parts;
    const date = clock.date();
    const entries = journal.apply(newChanges, date);
    if (entries.length === 0) return;
    hub.publish(entries, date);
    feeds.sendNew(entries);
  };

  readonly level = (json: string): void => this.#parts.hub.publishLevel(json);

  /**
   * Publishes health and removals in one step, so that a client that gets the removals of a child's records
   * also learns that the child is not up.
   */
  readonly health = (child: ChildName, newHealth: BackendHealth): void => {
    const { documents, journal } = this.#parts;
    documents.setHealth(child, newHealth);
    const drops = newHealth.state === 'up' ? [] : journal.dropsWhenAway(child);
    this.changes([healthChange(child, newHealth), ...drops]);
  };

  publishServed(served: ServedRecord): void {
    this.changes([{ kind: 'put', collection: 'served', key: '', json: JSON.stringify(served) }]);
  }
}

function healthChange(child: ChildName, health: BackendHealth): Change {
  const record: BackendRecord = { backend: child, ...healthWithReason(health) };
  return { kind: 'put', collection: 'backends', key: child, json: JSON.stringify(record) };
}
