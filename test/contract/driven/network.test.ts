// Runs those rows of the table (row.ts) that need a network of their own.

import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { inOwnNetwork } from '../../tools/own-network.js';
import { skipReason } from '../../tools/requirements.js';
import { NETWORK_ROWS, type NetworkNode, startNetworkNode } from './network-rows.js';
import { declareRows } from './row.js';

inOwnNetwork(import.meta.url, () => {
  describe('the built daemon', { skip: skipReason({ programs: ['dbus-daemon'] }) }, () => {
    let started: NetworkNode | undefined;
    const cleanups: (() => unknown)[] = [];
    before(async () => {
      // The part that was started last ends first.
      started = await startNetworkNode({ after: (end) => cleanups.unshift(end) });
    });
    after(async () => {
      for (const end of cleanups) await end();
    });
    declareRows(NETWORK_ROWS, () => started ?? assert.fail('the node has not been started'));
  });
});
