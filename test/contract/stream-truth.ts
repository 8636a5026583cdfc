// Whether what a consumer has been told is what the routes say.

import assert from 'node:assert/strict';
import type { EventConsumer } from '../consumer/consumer.js';
import { until } from '../until.js';
import type { Audio } from './audio-node.js';
import type { Daemon } from './daemon.js';

type Identified = { readonly id: number };

function byId(records: readonly Identified[]): readonly Identified[] {
  return [...records].sort((one, other) => one.id - other.id);
}

/** Waits until every consumer knows the outputs and clients that `GET /audio` lists, and nothing else. */
export async function allKnowTheTruth(daemon: Daemon, consumers: readonly EventConsumer[]): Promise<void> {
  await until('every consumer knows the true state', async () => {
    const { outputs, clients } = await daemon.read<Audio>('/audio');
    for (const { model } of consumers) {
      assert.deepEqual(byId([...model.outputs.values()] as unknown as Identified[]), byId(outputs));
      assert.deepEqual(byId([...model.clients.values()] as unknown as Identified[]), byId(clients));
    }
    return true;
  });
}
