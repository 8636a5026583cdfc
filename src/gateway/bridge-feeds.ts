// Sends the journal to each bridge at the bridge's own pace: a slow one gets the newest text of each record and every action, and nothing
// is queued for it. It parses no text and knows no thread. Pure.

import { BRIDGES, type Bridge, type ChildName } from '../protocol/actor/backends.js';
import { COLLECTION_NAMES, SPECS } from '../protocol/actor/collections.js';
import { type Bridges, type Change, type ChangeBatch, UNHEARD } from '../protocol/actor/messages.js';
import type { Journal, JournalEntry } from './journal.js';

/** One bridge's progress. A bridge that has never pulled has none. */
interface Feed {
  /** Undefined if its thread is new. */
  reached: number | undefined;
  isReady: boolean;
}

export class BridgeFeeds {
  readonly #bridges: Bridges;
  readonly #journal: Journal;
  readonly #feeds = new Map<Bridge, Feed>();

  constructor(bridges: Bridges, journal: Journal) {
    this.#bridges = bridges;
    this.#journal = journal;
  }

  /** Call after entries were added to the journal. */
  changed(): void {
    for (const [bridge, feed] of this.#feeds) if (feed.isReady) this.#send(bridge, feed);
  }

  /** The last call: sends pending changes even without a pull, because after it a bridge is only asked to stop. */
  end(): void {
    for (const [bridge, feed] of this.#feeds) this.#send(bridge, feed);
  }

  /** Ignores children that are not bridges. */
  pulled(child: ChildName, isFirst: boolean): void {
    const bridge = BRIDGES.find((name) => name === child);
    if (bridge === undefined) return;
    const feed = this.#feeds.get(bridge) ?? { reached: undefined, isReady: true };
    this.#feeds.set(bridge, feed);
    if (isFirst) feed.reached = undefined;
    feed.isReady = true;
    this.#send(bridge, feed);
  }

  #send(bridge: Bridge, feed: Feed): void {
    const batch = this.#batch(bridge, feed.reached);
    feed.reached = this.#journal.newest;
    if (batch.changes.length === 0 && !batch.isWhole) return;
    feed.isReady = false;
    this.#bridges.tell(bridge, batch);
  }

  #batch(bridge: Bridge, reached: number | undefined): ChangeBatch {
    const journal = this.#journal;
    const isUnheard = UNHEARD[bridge];
    const isWhole = reached === undefined || !journal.reaches(reached, (name) => !isUnheard(name));
    const entries = isWhole
      ? COLLECTION_NAMES.filter((name) => SPECS[name].keeps === undefined).flatMap((name) => [
          ...journal.records(name),
        ])
      : [...journal.after(reached)];
    return { isWhole, changes: entries.filter(({ collection }) => !isUnheard(collection)).map(changeOf) };
  }
}

function changeOf({ kind, collection, key, json }: JournalEntry): Change {
  return kind === 'removal' ? { kind: 'drop', collection, key } : { kind: 'put', collection, key, json };
}
