// Applies the children's changes: to the journal first, then to documents, streams and bridges, so that a client that reads after an
// event finds the change. It decides nothing about threads, and parses no text.

import type { BackendHealth, ChildName } from '../protocol/actor/backends.js';
import type { BackendListener, BackendRecord, Change, ServedRecord } from '../protocol/actor/messages.js';
import type { BridgeFeeds } from './bridge-feeds.js';
import type { Covers } from './covers.js';
import type { Documents } from './documents.js';
import type { EventHub } from './events/hub.js';
import type { Journal } from './journal.js';

interface Recipients {
  readonly journal: Journal;
  readonly documents: Documents;
  readonly hub: EventHub;
  readonly feeds: BridgeFeeds;
  readonly covers: Covers;
}

export class Intake implements BackendListener {
  readonly #to: Recipients;

  /** Publishes the health of every enabled child, from `documents`. */
  constructor(to: Recipients) {
    this.#to = to;
    this.#publish([...to.documents.allHealth()].map(([child, health]) => backendChange(child, health)));
  }

  changes(_child: ChildName, changes: readonly Change[]): void {
    this.#publish(changes);
  }

  level(json: string): void {
    this.#to.hub.publishLevel(json);
  }

  /** Publishes health and removals in one step, so that a client that sees the removals also sees that the backend is not up. */
  health(child: ChildName, health: BackendHealth): void {
    const { documents, journal, covers } = this.#to;
    documents.health(child, health);
    this.#publish([backendChange(child, health), ...(health.state === 'up' ? [] : journal.leaving(child))]);
    if (child === 'players' && health.state !== 'up') covers.clear();
  }

  served(served: ServedRecord): void {
    this.#publish([{ kind: 'put', collection: 'served', key: '', json: JSON.stringify(served) }]);
  }

  #publish(changes: readonly Change[]): void {
    const { journal, documents, hub, feeds, covers } = this.#to;
    const entries = journal.apply(changes);
    if (entries.length === 0) return;
    documents.changed(entries);
    hub.publish(entries);
    feeds.changed();
    covers.changed(entries);
  }
}

function backendChange(backend: ChildName, health: BackendHealth): Change {
  const record: BackendRecord = { backend, ...health };
  return { kind: 'put', collection: 'backends', key: backend, json: JSON.stringify(record) };
}
