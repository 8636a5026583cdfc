// Whether what a consumer has been told is what the routes say.

import assert from 'node:assert/strict';
import type { EventConsumer } from '../consumer/consumer.js';
import { NamesHeld } from '../consumer/names-held.js';
import { until } from '../until.js';
import type { Audio } from './audio-node.js';
import type { Daemon } from './daemon.js';

type Identified = { readonly id: number };

function byId(records: readonly Identified[]): readonly Identified[] {
  return [...records].sort((one, other) => one.id - other.id);
}

/** Waits until every consumer knows the outputs and clients that `GET /audio` lists, and nothing else, by id and by name. */
export async function allKnowTheTruth(daemon: Daemon, consumers: readonly EventConsumer[]): Promise<void> {
  await until('every consumer knows the true state', async () => {
    const { outputs, clients } = await daemon.read<Audio>('/audio');
    const truth = new NamesHeld();
    truth.apply({ type: 'audio.output.updated', data: JSON.stringify(outputs) });
    truth.apply({ type: 'audio.updated', data: JSON.stringify(clients) });
    for (const { model, names } of consumers) {
      assert.deepEqual(byId([...model.outputs.values()] as unknown as Identified[]), byId(outputs));
      assert.deepEqual(byId([...model.clients.values()] as unknown as Identified[]), byId(clients));
      assert.deepEqual(names.state(), truth.state());
    }
    return true;
  });
}
