// Tests until when the probe of a branch reads. The scripted broker keeps no order between retained messages
// and its replies.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACKNOWLEDGED } from '../../../src/actors/mqtt/acknowledgement.js';
import type { BrokerConnection, BrokerMessage } from '../../../src/actors/mqtt/broker.js';
import { probe } from '../../../src/actors/mqtt/probe.js';
import { systemClock } from '../../../src/host/clock.js';
import { failed } from '../../../src/protocol/actor/result.js';
import { AnnouncedNode } from '../../broker/announced-node.js';
import { hurrying } from '../../broker/simulated-node.js';
import { Deferred } from '../../deferred.js';

const BRANCH = 'tonearm/living';
const KITCHEN: BrokerMessage = { topic: `${BRANCH}/audio/outputs/kitchen`, text: '{}', retained: true };

interface ScriptedBroker {
  /** Takes the question of the probe, `BRANCH/who`. */
  readonly publish: BrokerConnection['publish'];
  readonly unsubscribe?: () => void;
}

/** The retained topics that the probe reads from the broker. `deliver` sends a message to the probe. */
async function probedTopics(
  startBroker: (deliver: (message: BrokerMessage) => void) => ScriptedBroker,
  clock = systemClock,
): Promise<readonly string[]> {
  const { topics } = new AnnouncedNode();
  const result = await probe(topics, clock, (onMessage) => {
    const { publish, unsubscribe } = startBroker(onMessage);
    const ended = new Deferred<string>();
    return {
      ready: Promise.resolve(true),
      ended: ended.promise,
      inFlightMax: 16,
      accepts: () => true,
      publish,
      subscribe: async () => ACKNOWLEDGED,
      unsubscribe: async () => {
        unsubscribe?.();
        return ACKNOWLEDGED;
      },
      end: async (reason) => ended.resolve(reason),
      cut: (reason) => ended.resolve(reason),
    };
  });
  return result.ok ? [...result.value.retained.keys()] : assert.fail(JSON.stringify(result));
}

test('a retained message that comes late is read if it comes before the probe gets its own question back', async () => {
  const topics = await probedTopics((deliver) => ({
    publish: async (topic, text) => {
      setImmediate(() => {
        deliver(KITCHEN);
        setImmediate(() => deliver({ topic, text, retained: false }));
      });
      return ACKNOWLEDGED;
    },
  }));
  assert.deepEqual(topics, [KITCHEN.topic]);
});

test('if the broker refuses the question of the probe, or never sends it back, the probe reads until its subscription has ended', async () => {
  const topicsIfRefused = await probedTopics((deliver) => ({
    publish: async (topic) => failed({ kind: 'refused', topics: [topic], reason: 'Not authorized' }),
    unsubscribe: () => deliver(KITCHEN),
  }));
  // The probe waits at most 5 s until its question comes back (`ANSWER_MS` in probe.ts). With this clock the
  // probe waits 50 ms.
  const topicsIfNotSentBack = await probedTopics(
    (deliver) => ({ publish: async () => ACKNOWLEDGED, unsubscribe: () => deliver(KITCHEN) }),
    hurrying(5_000),
  );
  assert.deepEqual(topicsIfRefused, [KITCHEN.topic]);
  assert.deepEqual(topicsIfNotSentBack, [KITCHEN.topic]);
});
