// What the bridges are sent: each reads the journal from where it was, as fast as it takes changes in. So what waits for a slow one is the
// newest text of each record and every action, and costs nothing. It parses no text and knows no thread. Pure.

import { BRIDGES, type Bridge, type ChildName } from '../protocol/actor/backends.js';
import { COLLECTION_NAMES, SPECS } from '../protocol/actor/collections.js';
import { type Bridges, type Change, type ChangeBatch, UNHEARD } from '../protocol/actor/messages.js';
import type { Entry, Journal } from './journal.js';

/** Of one bridge; one that has never pulled costs nothing. */
interface Place {
  /** Undefined: its thread is new. */
  reached: number | undefined;
  isReady: boolean;
}

export class BridgeFeeds {
  readonly #bridges: Bridges;
  readonly #journal: Journal;
  readonly #places = new Map<Bridge, Place>();

  constructor(bridges: Bridges, journal: Journal) {
    this.#bridges = bridges;
    this.#journal = journal;
  }

  /** Something has come into the journal. */
  changed(): void {
    for (const [bridge, place] of this.#places) if (place.isReady) this.#send(bridge, place);
  }

  /** The last time: what waits is sent whether it was pulled or not, as after it a bridge is only asked to stop. */
  end(): void {
    for (const [bridge, place] of this.#places) this.#send(bridge, place);
  }

  /** A child that is no bridge is ignored. */
  pulled(child: ChildName, isFirst: boolean): void {
    const bridge = BRIDGES.find((name) => name === child);
    if (bridge === undefined) return;
    const place = this.#places.get(bridge) ?? { reached: undefined, isReady: true };
    this.#places.set(bridge, place);
    if (isFirst) place.reached = undefined;
    place.isReady = true;
    this.#send(bridge, place);
  }

  #send(bridge: Bridge, place: Place): void {
    const batch = this.#batch(bridge, place.reached);
    place.reached = this.#journal.newest;
    if (batch.changes.length === 0 && !batch.isWhole) return;
    place.isReady = false;
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

function changeOf({ kind, collection, key, json }: Entry): Change {
  return kind === 'removal' ? { kind: 'drop', collection, key } : { kind: 'put', collection, key, json };
}
