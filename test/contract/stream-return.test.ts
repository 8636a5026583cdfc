// Consumers break off and reconnect at any moment, while a real sound server changes as fast as it can: each must
// reach the true state (docs/events.md, "Coming back").

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { EventConsumer } from '../consumer/consumer.js';
import { SEED, SeededRandom } from '../seeded-random.js';
import { lacks } from '../tools/requirements.js';
import { allKnowTheTruth, audioForAll } from './audio-node.js';
import { Storm } from './stream-storm.js';

const CONSUMERS = 20;
const STEPS = 1200;
/** In each step one consumer breaks off or comes back, with this probability. */
const COME_AND_GO = 0.5;

const skip = lacks({ programs: ['pulseaudio', 'pactl'] });

/** A consumer that can disconnect and reconnect. */
class Traveller {
  readonly consumer: EventConsumer;
  returns = 0;
  #away = false;

  constructor(consumer: EventConsumer) {
    this.consumer = consumer;
  }

  leave(): void {
    this.#away = true;
    this.consumer.close();
  }

  async comeBack(): Promise<void> {
    if (!this.#away) return;
    this.#away = false;
    this.returns += 1;
    await this.consumer.reconnect();
    assert.equal(this.consumer.status, 200);
  }

  async move(): Promise<void> {
    if (this.#away) await this.comeBack();
    else this.leave();
  }
}

describe(`resuming a stream (TONEARM_FUZZ_SEED=${SEED})`, { skip }, () => {
  const random = new SeededRandom(SEED);
  // Declared first, so that the storm ends before its server.
  after(() => storm.close());
  const node = audioForAll();
  let storm: Storm;
  before(async () => {
    storm = await Storm.over(node.sound, random);
  });

  async function travellers(): Promise<readonly Traveller[]> {
    const found = await Promise.all(
      Array.from({ length: CONSUMERS }, () => node.daemon.events('?snapshot=1')),
    );
    return found.map((consumer) => new Traveller(consumer));
  }

  /** Changes and reconnections run at the same time: neither waits for the other. */
  async function storms(all: readonly Traveller[]): Promise<void> {
    let moves: Promise<void> = Promise.resolve();
    for (let step = 0; step < STEPS; step += 1) {
      await storm.step();
      const traveller = all[random.below(all.length)];
      if (traveller !== undefined && random.chance(COME_AND_GO)) {
        moves = moves.then(() => traveller.move());
      }
    }
    await moves;
  }

  async function allHome(all: readonly Traveller[]): Promise<void> {
    for (const traveller of all) await traveller.comeBack();
    await allKnowTheTruth(
      node.daemon,
      all.map(({ consumer }) => consumer),
    );
  }

  test('consumers that come and go end with the state of the node also when the daemon restarts meanwhile', async (t) => {
    const all = await travellers();
    await storms(all);
    const snapshots = all.map(({ consumer }) => consumer.model.snapshots);
    for (const traveller of all) traveller.leave();
    const restart = node.daemon.restart();
    for (let step = 0; step < 100; step += 1) await storm.step();
    await restart;
    await storms(all);
    await node.daemon.backend('audio', 'up');
    await allHome(all);
    const returns = all.reduce((sum, each) => sum + each.returns, 0);
    t.diagnostic(`${returns} returns`);
    assert.ok(returns >= 200, `${returns} returns`);
    for (const [at, { consumer }] of all.entries()) {
      assert.ok(
        consumer.model.snapshots > (snapshots[at] ?? 0),
        'an id of another life is answered with a snapshot',
      );
      consumer.close();
    }
  });

  for (const query of ['types=audio.updated,audio.removed', 'exclude=backend.updated']) {
    test(`a consumer of ?${query} forgets what ended while the daemon was being restarted`, async () => {
      const client = await node.sound.streams('short');
      const [stream] = await client.open([{ sink: 'kitchen', props: { 'media.name': query } }]);
      const consumer = await node.daemon.events(`?${query}&snapshot=1`);
      await consumer.until(({ model }) => model.clients.has(String(stream?.id)), 'the stream');
      consumer.close();
      const restart = node.daemon.restart();
      await client.close();
      await restart;
      await node.daemon.backend('audio', 'up');
      await consumer.reconnect();
      await consumer.until(({ model }) => !model.clients.has(String(stream?.id)), 'the end of the stream');
      consumer.close();
    });
  }
});
