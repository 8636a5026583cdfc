// A hub with a world to tell of, a clock to move and consumers of every speed.

import type { StreamEvent } from '../../../src/gateway/events/event.js';
import { EventHub } from '../../../src/gateway/events/hub.js';
import type { StateModel } from '../../consumer/state-model.js';
import { ManualClock } from '../../manual-clock.js';
import { NodeWorld } from './node-world.js';
import { SimulatedConsumer } from './simulated-consumer.js';

export class NodeUnderTest {
  readonly world = new NodeWorld();
  readonly clock = new ManualClock();
  readonly hub: EventHub;
  /** Who began or ended to listen to a gauge. */
  readonly watched: string[] = [];

  constructor(maxClients = 256) {
    this.hub = new EventHub({
      boot: 'b',
      clock: this.clock,
      maxClients,
      source: this.world,
      watch: (gauge, watched) => this.watched.push(`${gauge} ${watched}`),
    });
  }

  consumer(query = '', capacity?: number, lastEventId = ''): SimulatedConsumer {
    const consumer = new SimulatedConsumer(this.hub, this.world);
    if (lastEventId !== '') consumer.pretend(lastEventId);
    consumer.open(query, capacity);
    return consumer;
  }

  publish(happenings: readonly (readonly StreamEvent[])[]): void {
    this.hub.publish(happenings.flat());
  }

  progress(count: number, fields: object = {}): void {
    for (let times = 0; times < count; times += 1) {
      this.publish([this.world.action('upgrade.progress', fields)]);
    }
  }

  /** Changes that nobody in these tests wants. */
  noise(count: number): void {
    for (let v = 0; v < count; v += 1) {
      this.publish([this.world.put('systemd.services', ['user/noise', { scope: 'user', name: 'noise', v }])]);
    }
  }
}

/** The events as `id type data`, of those types that begin with `of`; without the "connected" that begins every stream. */
export function heard(consumer: SimulatedConsumer, of = ''): readonly string[] {
  consumer.readAll();
  const events = consumer.events.slice(1).filter(({ type }) => type.startsWith(of));
  return events.map(({ type, data, lastEventId }) => `${lastEventId} ${type} ${data}`);
}

/** The numbers of the actions that it has heard. */
export function actionsOf({ actions }: StateModel): readonly number[] {
  return actions.map(([, data]) => (JSON.parse(data) as { readonly n: number }).n);
}

/** So many numbers from `first` on. */
export const numbers = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => first + index);
