// Sends the journal to each bridge, and any other subscriber, at its own pace: a slow one gets the newest text of each record and every action, and nothing
// is queued for it. It parses no text and knows no thread. Pure.

import { type ChildName, SUBSCRIBERS, type Subscriber } from '../protocol/actor/backends.js';
import { COLLECTION_NAMES, SPECS } from '../protocol/actor/collections.js';
import { type Bridges, type Change, UNWANTED } from '../protocol/actor/messages.js';
import type { Journal, JournalEntry } from './journal.js';

/** One subscriber's progress. One that has never pulled has none. */
interface Feed {
  /** Undefined if its thread is new. */
  reached: number | undefined;
  isReady: boolean;
}

export class BridgeFeeds {
  readonly #bridges: Bridges;
  readonly #journal: Journal;
  readonly #feeds = new Map<Subscriber, Feed>();

  constructor(bridges: Bridges, journal: Journal) {
    this.#bridges = bridges;
    this.#journal = journal;
  }

  /** Call with what was added to the journal. A feed that is ready has all before it. */
  changed(entries: readonly JournalEntry[]): void {
    for (const [subscriber, feed] of this.#feeds)
      if (feed.isReady) this.#send(subscriber, feed, false, entries);
  }

  /** The last call: sends pending changes even without a pull, because after it a bridge is only asked to stop. */
  end(): void {
    for (const [subscriber, feed] of this.#feeds) this.#sendRest(subscriber, feed);
  }

  pulled(child: ChildName, isFirst: boolean): void {
    const subscriber = SUBSCRIBERS.find((name) => name === child);
    if (subscriber === undefined) return;
    const feed = this.#feeds.get(subscriber) ?? { reached: undefined, isReady: true };
    this.#feeds.set(subscriber, feed);
    if (isFirst) feed.reached = undefined;
    feed.isReady = true;
    this.#sendRest(subscriber, feed);
  }

  #sendRest(subscriber: Subscriber, feed: Feed): void {
    const { reached } = feed;
    const journal = this.#journal;
    const isUnwanted = UNWANTED[subscriber];
    const isWhole = reached === undefined || !journal.reaches(reached, (name) => !isUnwanted(name));
    const entries = isWhole
      ? COLLECTION_NAMES.filter((name) => SPECS[name].keeps === undefined).flatMap((name) => [
          ...journal.records(name),
        ])
      : [...journal.after(reached)];
    this.#send(subscriber, feed, isWhole, entries);
  }

  #send(subscriber: Subscriber, feed: Feed, isWhole: boolean, entries: readonly JournalEntry[]): void {
    feed.reached = this.#journal.newest;
    const changes = entries.filter(({ collection }) => !UNWANTED[subscriber](collection)).map(changeOf);
    if (changes.length === 0 && !isWhole) return;
    feed.isReady = false;
    this.#bridges.sendChanges(subscriber, { isWhole, changes });
  }
}

function changeOf({ kind, collection, key, json }: JournalEntry): Change {
  return kind === 'removal' ? { kind: 'drop', collection, key } : { kind: 'put', collection, key, json };
}
