// Tests how long the probe of a branch reads retained messages. The probe also publishes a question, and gets
// this question back from the broker. Most brokers send all retained messages before the question. EMQX may
// send them after the question. The scripted broker can do both.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACKNOWLEDGED } from '../../../src/actors/mqtt/acknowledgement.js';
import type { BrokerConnection, BrokerMessage } from '../../../src/actors/mqtt/broker.js';
import { probe, QUIET_MS } from '../../../src/actors/mqtt/probe.js';
import { systemClock } from '../../../src/host/clock.js';
import { failed } from '../../../src/protocol/actor/result.js';
import { AnnouncedNode } from '../../broker/announced-node.js';
import { hurrying } from '../../broker/simulated-node.js';
import { Deferred } from '../../deferred.js';
import { ManualClock } from '../../manual-clock.js';
import { until } from '../../until.js';

const BRANCH = 'tonearm/living';
const KITCHEN: BrokerMessage = { topic: `${BRANCH}/audio/outputs/kitchen`, text: '{}', retained: true };

interface ScriptedBroker {
  /** Receives the probe's question, whose topic is `BRANCH/who`. */
  readonly publish: BrokerConnection['publish'];
  readonly unsubscribe?: () => void;
}

/** Runs a probe, and returns the retained topics that it reads. `deliver` sends a message to the probe. */
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

/** Starts a probe that gets its question back first, and retained messages later, as EMQX may send them. */
function probeWithEarlyQuestion() {
  const clock = new ManualClock();
  let deliver: (message: BrokerMessage) => void = () => undefined;
  const startBroker = (deliverToProbe: typeof deliver): ScriptedBroker => {
    deliver = deliverToProbe;
    const publish = async (topic: string, text: string) => {
      deliver({ topic, text, retained: false });
      return ACKNOWLEDGED;
    };
    return { publish };
  };
  const result = probedTopics(startBroker, clock);
  /** Sends a retained message 1 ms before the probe would end, so that the probe waits anew. */
  const deliverLate = async (topic: string): Promise<void> => {
    await until('the probe waits for more', () => clock.timers === 1);
    clock.advance(QUIET_MS - 1);
    deliver({ ...KITCHEN, topic });
    // If the probe did not wait anew, it would end here.
    clock.advance(1);
  };
  return { clock, result, deliverLate };
}

test('retained messages that come after the question of the probe are read until no further one comes for 100 ms', async () => {
  const { clock, result, deliverLate } = probeWithEarlyQuestion();
  const lateTopics = [KITCHEN.topic, `${BRANCH}/audio/server`, `${BRANCH}/players/mpv`];
  for (const topic of lateTopics) await deliverLate(topic);
  await until('the probe waits for more', () => clock.timers === 1);
  clock.advance(QUIET_MS);
  assert.deepEqual(await result, lateTopics);
});

test('if the broker sends retained messages all the time, the probe stops reading 5 s after it gets its question back', async () => {
  const { result, deliverLate } = probeWithEarlyQuestion();
  // In 5 s there are 50 intervals of 100 ms.
  for (let index = 0; index < 50; index += 1) await deliverLate(`${BRANCH}/players/${index}`);
  assert.equal((await result).length, 50);
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
