// Tests which refusals of subscriptions are reported.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACKNOWLEDGED, type Acknowledgement } from '../../../src/actors/mqtt/acknowledgement.js';
import { Subscriptions } from '../../../src/actors/mqtt/subscriptions.js';
import { failed } from '../../../src/protocol/actor/result.js';
import { Deferred } from '../../deferred.js';

test('a refused subscription to a status topic is not reported if the topic is no longer watched', async () => {
  const statusTopic = 'house/clone/status';
  const answer = new Deferred<Acknowledgement>();
  const connection = { subscribe: () => answer.promise, unsubscribe: async () => ACKNOWLEDGED };
  let reports = 0;
  const subscriptions = new Subscriptions(connection, () => {
    reports += 1;
  });

  subscriptions.watchStatus(statusTopic);
  // '' stands for no topic.
  subscriptions.watchStatus('');
  answer.resolve(failed({ kind: 'refused', topics: [statusTopic], reason: 'Not authorized' }));
  await new Promise(setImmediate);
  assert.deepEqual([reports, subscriptions.refused], [0, []]);
});
