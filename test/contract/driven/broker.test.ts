// Runs those rows of the table (row.ts) that need a broker.

import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { skipReason } from '../../tools/requirements.js';
import { BROKER_PROGRAMS, BROKER_ROWS, type BrokerNode, startBrokerNode } from './broker-rows.js';
import { declareRows } from './row.js';

describe('the built daemon at a broker', { skip: skipReason({ programs: BROKER_PROGRAMS }) }, () => {
  let started: BrokerNode | undefined;
  const cleanups: (() => unknown)[] = [];
  before(async () => {
    // The part that was started last ends first.
    started = await startBrokerNode({ after: (end) => cleanups.unshift(end) });
  });
  after(async () => {
    for (const end of cleanups) await end();
  });
  declareRows(BROKER_ROWS, () => started ?? assert.fail('the node has not been started'));
});
