// Keeps event streams with different filters open, as browsers do. Each stream reconnects with its last id
// whenever it ends. Its state is compared with the answers of the routes, as far as its filter permits.

import assert from 'node:assert/strict';
import type { NodeState } from '../../../src/client/store.js';
import { EventConsumer } from '../../consumer/consumer.js';
import { until } from '../../until.js';

type Json = Readonly<Record<string, unknown>>;

const BACK_WITHIN_MS = 120_000;
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

/** A player's position runs on, so an event and a later answer differ in it. */
export function still(players: readonly Json[]): readonly Json[] {
  return players.map(({ position, position_updated_at: at, ...rest }) => rest);
}

const keyOf = (record: Json): string => JSON.stringify(Object.entries(record).sort());
const sorted = (records: readonly object[]): readonly Json[] =>
  still(records as readonly Json[]).toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));

/** Each part of the state as events gave it, in the form of the routes' answers. */
const RECORDS = {
  outputs: ({ outputs }) => [...outputs.values()],
  clients: ({ clients }) => [...clients.values()],
  services: ({ units }) => [...units.values()],
  players: ({ players }) => [...players.values()],
  upgrade: ({ upgrade }) => [{ can_check: true, can_upgrade: true, ...upgrade }],
  bluetooth: ({ bluetooth }) => [{ ...bluetooth }],
} as const satisfies { readonly [P in keyof Routes]: (state: NodeState) => readonly object[] };

type Part = keyof typeof RECORDS;

const ALL = Object.keys(RECORDS) as Part[];
type Filter = readonly [query: string, parts: readonly Part[]];
const FILTERS: readonly Filter[] = [
  ['', ALL],
  ['&types=service.updated', ['services']],
  ['&backend=audio', ['outputs', 'clients']],
  ['&exclude=audio.updated,audio.removed&keepalive=10', ALL.filter((part) => part !== 'clients')],
  ['&backend=mpris,upgrade&types=audio.level', ['players', 'upgrade']],
];

/** A backend's state in an event. */
interface PublishedState {
  readonly backend: string;
  readonly state: string;
  readonly detail?: string;
}

type Kept = readonly [EventConsumer, readonly Part[]];

export class KeptStreams {
  readonly #kept: readonly Kept[];
  #isOver = false;

  private constructor(kept: readonly Kept[]) {
    this.#kept = kept;
    for (const [consumer] of kept) void this.#keep(consumer);
  }

  static async open(port: number): Promise<KeptStreams> {
    const url = `http://127.0.0.1:${port}/events?snapshot=1`;
    const open = async ([query, parts]: Filter) => [await EventConsumer.open(url + query), parts] as const;
    return new KeptStreams(await Promise.all(FILTERS.map(open)));
  }

  /** Has one of the streams read nothing until `resume`, as a slow client does. */
  pause(): void {
    this.#kept[3]?.[0].pause();
  }

  resume(): void {
    this.#kept[3]?.[0].resume();
  }

  /** The number of events received so far. */
  get mark(): number {
    return this.#first.events.length;
  }

  /** States of backends in the events since `mark`, without snapshots. */
  states(mark: number): readonly PublishedState[] {
    const updates = this.#first.events.slice(mark).filter(({ type }) => type === 'backend.updated');
    const states = updates.map(({ data }): PublishedState => JSON.parse(data));
    return states.filter(({ detail }) => detail !== 'snapshot');
  }

  /** Throws where the state from one of the streams differs from the routes' answers. */
  knowThat(routes: Routes): void {
    for (const [{ model }, parts] of this.#kept)
      for (const part of parts)
        assert.deepEqual(sorted(RECORDS[part](model.known)), sorted([routes[part]].flat()), part);
  }

  close(): void {
    this.#isOver = true;
    for (const [consumer] of this.#kept) consumer.close();
  }

  get #first(): EventConsumer {
    return this.#kept[0]?.[0] ?? assert.fail('there are no streams');
  }

  async #keep(consumer: EventConsumer): Promise<void> {
    const isBack = async (): Promise<boolean> => {
      if (this.#isOver) return true;
      await consumer.reconnect();
      return consumer.status === 200;
    };
    while (!this.#isOver) {
      await consumer.until(({ ended }) => ended, 'its end', FOR_EVER_MS);
      await until('the stream is back', isBack, BACK_WITHIN_MS);
    }
    consumer.close();
  }
}
