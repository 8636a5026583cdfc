// Keeps event streams with different filters open, as browsers do. Each stream reconnects with its last id
// whenever it ends. The state from each stream is compared with the answers of the routes, as far as the
// stream's filter permits.

import assert from 'node:assert/strict';
import type { NodeState } from '../../../src/client/store.js';
import { EventConsumer } from '../../consumer/consumer.js';
import { until } from '../../until.js';

type Json = Readonly<Record<string, unknown>>;

const BACK_WITHIN_MS = 120_000;
/** The longest delay that a timer of Node.js can have. */
const FOR_EVER_MS = 2 ** 31 - 1;

/** The records that the routes answer with. */
export interface Routes {
  readonly outputs: readonly Json[];
  readonly clients: readonly Json[];
  readonly services: readonly Json[];
  readonly players: readonly Json[];
  readonly upgrade: Json;
  readonly bluetooth: Json;
}

/** Leaves out the positions of the players, because an event and a later answer have different ones. */
export function withoutPosition(players: readonly Json[]): readonly Json[] {
  return players.map(({ position, position_updated_at: updatedAt, ...player }) => player);
}

const keyOf = (record: Json): string => JSON.stringify(Object.entries(record).sort());
/** Returns the records in a fixed order and without positions, so that two lists can be compared. */
const comparable = (records: readonly object[]): readonly Json[] =>
  withoutPosition(records as readonly Json[]).toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));

/**
 * Each function returns one part of the state that a stream's events gave, in the form of the routes'
 * answers. Only the routes have `can_check` and `can_upgrade`, so these are added here.
 */
const RECORDS_OF_STATE = {
  outputs: ({ outputs }) => [...outputs.values()],
  clients: ({ clients }) => [...clients.values()],
  services: ({ units }) => [...units.values()],
  players: ({ players }) => [...players.values()],
  upgrade: ({ upgrade }) => [{ can_check: true, can_upgrade: true, ...upgrade }],
  bluetooth: ({ bluetooth }) => [{ ...bluetooth }],
} as const satisfies { readonly [P in keyof Routes]: (state: NodeState) => readonly object[] };

type Part = keyof typeof RECORDS_OF_STATE;

const ALL_PARTS = Object.keys(RECORDS_OF_STATE) as Part[];
type Filter = readonly [query: string, parts: readonly Part[]];
/**
 * Each stream has the query of one of these rows, and learns the parts of the state in the same row.
 * `backend` and `types` add to each other, and `mpris` means `players` (docs/events.md, "Query").
 * `audio.updated` and `audio.removed` are the events of clients. `audio.level` changes no part.
 */
const FILTERS: readonly Filter[] = [
  ['', ALL_PARTS],
  ['&types=service.updated', ['services']],
  ['&backend=audio', ['outputs', 'clients']],
  ['&exclude=audio.updated,audio.removed&keepalive=10', ALL_PARTS.filter((part) => part !== 'clients')],
  ['&backend=mpris,upgrade&types=audio.level', ['players', 'upgrade']],
];

/** A backend's state in an event. */
interface PublishedState {
  readonly backend: string;
  readonly state: string;
  readonly detail?: string;
}

/** The index, in `FILTERS`, of the stream that `pause` pauses. */
const PAUSED_STREAM = 3;

interface KeptStream {
  readonly consumer: EventConsumer;
  readonly parts: readonly Part[];
}

export class KeptStreams {
  readonly #kept: readonly KeptStream[];
  #isOver = false;

  private constructor(kept: readonly KeptStream[]) {
    this.#kept = kept;
    for (const { consumer } of kept) void this.#reconnectForEver(consumer);
  }

  static async open(port: number): Promise<KeptStreams> {
    const url = `http://127.0.0.1:${port}/events?snapshot=1`;
    const open = async ([query, parts]: Filter): Promise<KeptStream> => {
      const consumer = await EventConsumer.open(url + query);
      return { consumer, parts };
    };
    return new KeptStreams(await Promise.all(FILTERS.map(open)));
  }

  /** Stops reading one of the streams until `resume`, as a slow client does. */
  pause(): void {
    this.#kept[PAUSED_STREAM]?.consumer.pause();
  }

  resume(): void {
    this.#kept[PAUSED_STREAM]?.consumer.resume();
  }

  /** The number of events that the stream without a filter has received. */
  get eventCount(): number {
    return this.#unfiltered.events.length;
  }

  /** States of backends in the events after the first `eventCount`, without snapshots. */
  backendStatesSince(eventCount: number): readonly PublishedState[] {
    const updates = this.#unfiltered.events
      .slice(eventCount)
      .filter(({ type }) => type === 'backend.updated');
    const states = updates.map(({ data }): PublishedState => JSON.parse(data));
    return states.filter(({ detail }) => detail !== 'snapshot');
  }

  /** Throws if the state that a stream knows differs from the routes' answers. */
  mustAgreeWith(routes: Routes): void {
    for (const { consumer, parts } of this.#kept)
      for (const part of parts) {
        const fromStream = RECORDS_OF_STATE[part](consumer.model.known);
        // A part that is one record becomes a list of one.
        const fromRoute = [routes[part]].flat();
        assert.deepEqual(comparable(fromStream), comparable(fromRoute), part);
      }
  }

  close(): void {
    this.#isOver = true;
    for (const { consumer } of this.#kept) consumer.close();
  }

  /** The first stream, because the first row of `FILTERS` has no filter. */
  get #unfiltered(): EventConsumer {
    return this.#kept[0]?.consumer ?? assert.fail('there are no streams');
  }

  async #reconnectForEver(consumer: EventConsumer): Promise<void> {
    const isBack = async (): Promise<boolean> => {
      if (this.#isOver) return true;
      await consumer.reconnect();
      return consumer.status === 200;
    };
    while (!this.#isOver) {
      await consumer.until(({ ended }) => ended, 'the end of the stream', FOR_EVER_MS);
      await until('the stream is back', isBack, BACK_WITHIN_MS);
    }
    // The consumer may have been reconnecting while `close` closed its old connection.
    consumer.close();
  }
}
