// A journal and its hub, with a world that changes, a manual clock and consumers of every speed.

import { EventHub } from '../../../src/gateway/events/hub.js';
import { Journal } from '../../../src/gateway/journal.js';
import type { Change } from '../../../src/protocol/actor/messages.js';
import type { StateModel } from '../../consumer/state-model.js';
import { ManualClock } from '../../manual-clock.js';
import { NodeWorld } from './node-world.js';
import { SimulatedConsumer } from './simulated-consumer.js';

const BOOT_ID = 'b';
const OWN_ID = new RegExp(`^${BOOT_ID}-(\\d+)$`);

/** The ids of unrelated outputs begin here. The outputs of tests have smaller ids. */
const FIRST_UNRELATED_ID = 1_000_000;

interface ConsumerOptions {
  /** The connection refuses writes while more bytes than this are unread (simulated-connection.ts). */
  readonly capacity?: number | undefined;
  readonly lastEventId?: string;
}

export class NodeUnderTest {
  readonly world = new NodeWorld();
  readonly clock = new ManualClock();
  readonly journal = new Journal();
  readonly hub: EventHub;
  /** The argument of each call of `watchLevels`, in order. */
  readonly levelsWatched: boolean[] = [];
  /** The sequence number of the last change of `allConnecting`. The next change is b-1 for tests. */
  readonly #setUpSequence: number;

  constructor(maxClients = 256, random = (): number => 0) {
    this.hub = new EventHub({
      bootId: BOOT_ID,
      clock: { ...this.clock, random },
      maxClients,
      journal: this.journal,
      watchLevels: (isWatched) => this.levelsWatched.push(isWatched),
    });
    this.publish([this.world.allConnecting()]);
    this.#setUpSequence = this.journal.newestSequence;
  }

  /**
   * Opens a stream. If `capacity` is 0, the hub must wait after each write until the test reads.
   * In `lastEventId`, and in the ids of `received`, b-1 is the first change that the test publishes.
   */
  consumer(query = '', { capacity, lastEventId = '' }: ConsumerOptions = {}): SimulatedConsumer {
    const consumer = new SimulatedConsumer(this.hub, this.world);
    const [, sequence] = OWN_ID.exec(lastEventId) ?? [];
    if (sequence !== undefined)
      consumer.setLastEventId(`${BOOT_ID}-${Number(sequence) + this.#setUpSequence}`);
    else if (lastEventId !== '') consumer.setLastEventId(lastEventId);
    consumer.open(query, capacity);
    return consumer;
  }

  /** Publishes the changes of all lists as one batch. */
  publish(lists: readonly (readonly Change[])[]): void {
    const date = this.clock.date();
    this.hub.publish(this.journal.apply(lists.flat(), date), date);
  }

  publishLevel(peak: number): void {
    this.hub.publishLevel(`{"outputs":[{"id":1,"peak":[${peak}]}]}`);
  }

  publishProgress(count: number, fields: object = {}): void {
    for (let times = 0; times < count; times += 1)
      this.publish([this.world.action('upgrade.progress', fields)]);
  }

  /** Publishes `count` outputs, and removes them, so that the journal forgets other removals. */
  publishUnrelatedRemovals(count: number): void {
    for (let id = FIRST_UNRELATED_ID; id < FIRST_UNRELATED_ID + count; id += 1)
      this.publish([this.world.putOutputs({ id }), this.world.drop('audio.outputs', `${id}`)]);
  }

  /**
   * The events whose types begin with `typePrefix`, each as `id type data`. The first event of every stream,
   * "connected", is left out.
   */
  received(consumer: SimulatedConsumer, typePrefix = ''): readonly string[] {
    consumer.readAll();
    const events = consumer.events.slice(1).filter(({ type }) => type.startsWith(typePrefix));
    return events.map(
      ({ type, data, lastEventId }) => `${this.#idCountedFromOne(lastEventId)} ${type} ${data}`,
    );
  }

  #idCountedFromOne(id: string): string {
    const [, sequence] = OWN_ID.exec(id) ?? [];
    return sequence === undefined ? id : `${BOOT_ID}-${Number(sequence) - this.#setUpSequence}`;
  }
}

/** The numbers of the actions that the consumer has received. */
export function actionsOf({ actions }: StateModel): readonly number[] {
  return actions.map(([, data]) => (JSON.parse(data) as { readonly n: number }).n);
}
