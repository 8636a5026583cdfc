// Takes in what children publish: into the journal first, then to the answers, the streams and the bridges, so that whoever learns of a
// change and looks finds it. It decides nothing about threads, and parses no text.

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

  /** Every enabled child is known as it is in `documents`. */
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

  /** In one step: who learns that records have gone knows that their backend has left. */
  health(child: ChildName, health: BackendHealth): void {
    const { documents, journal, covers } = this.#to;
    documents.health(child, health);
    this.#publish([backendChange(child, health), ...(health.state === 'up' ? [] : journal.leaving(child))]);
    if (child === 'players' && health.state !== 'up') covers.clear();
  }

  /** Where HTTP is served now. */
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
