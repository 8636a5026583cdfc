// Tests how often the configuration is read if several readings are requested. test/contract/reload.test.ts
// tests the effects of a reading.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadResult } from '../../src/supervisor/config/load.js';
import { Reload } from '../../src/supervisor/reload.js';
import { Deferred } from '../deferred.js';
import { until } from '../until.js';
import { configurationOf } from './config/full.js';

test('several requests during one reading cause only one further reading', async () => {
  const configuration = await configurationOf('');
  const readings: Deferred<LoadResult>[] = [];
  const done = new Deferred<void>();
  const reload = new Reload(
    {
      load: () => {
        const reading = new Deferred<LoadResult>();
        readings.push(reading);
        return reading.promise;
      },
      log: () => undefined,
      setLogLevel: () => undefined,
      supervisor: { stopChanged: async () => [], startMissing: () => [] },
      gateway: { reconfigure: () => undefined },
      onDone: () => done.resolve(),
    },
    configuration.values,
  );

  reload.request();
  assert.equal(readings.length, 1);
  for (let count = 0; count < 3; count += 1) reload.request();
  assert.equal(readings.length, 1);
  readings[0]?.resolve({ ok: true, value: configuration });
  await until('the second reading has begun', () => readings.length === 2);
  readings[1]?.resolve({ ok: true, value: configuration });
  await done.promise;
  assert.equal(readings.length, 2);
});
