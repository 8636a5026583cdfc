// Runs those rows of the table (row.ts) that share the built daemons of house.ts.

import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { skipReason } from '../../tools/requirements.js';
import { BLUETOOTH_ROWS } from './bluetooth-rows.js';
import { HOUSE_PROGRAMS, type House, startHouse } from './house.js';
import { HTTP_ROWS } from './http-rows.js';
import { INPUT_ROWS } from './input-rows.js';
import { PLAYER_ROWS } from './player-rows.js';
import { declareRows } from './row.js';
import { SOUND_ROWS } from './sound-rows.js';
import { UNIT_ROWS } from './unit-rows.js';

describe('the built daemon', { skip: skipReason({ programs: HOUSE_PROGRAMS }) }, () => {
  let started: House | undefined;
  const cleanups: (() => unknown)[] = [];
  before(async () => {
    // The part that was started last ends first.
    started = await startHouse({ after: (end) => cleanups.unshift(end) });
  });
  after(async () => {
    for (const end of cleanups) await end();
  });
  const node = (): House => started ?? assert.fail('the house has not been started');

  for (const rows of [HTTP_ROWS, SOUND_ROWS, INPUT_ROWS, UNIT_ROWS, PLAYER_ROWS, BLUETOOTH_ROWS])
    declareRows(rows, node);
});
