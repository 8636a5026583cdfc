// The folder of a manager's links, on a real file system.

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { UnitsDirectory } from '../../../src/actors/systemd/units-directory.js';
import { ManualClock } from '../../manual-clock.js';

const DEADLINE_MS = 60_000;

function setUp(t: TestContext, exists: boolean) {
  const parent = mkdtempSync(join(tmpdir(), 'tonearm-units-'));
  const path = join(parent, 'units');
  if (exists) mkdirSync(path);
  const clock = new ManualClock();
  const heard = new EventEmitter();
  const units: (string | undefined)[] = [];
  const directory = new UnitsDirectory(path, clock, (unit) => {
    units.push(unit);
    heard.emit('unit');
  });
  t.after(() => {
    directory.close();
    rmSync(parent, { recursive: true, force: true });
  });
  const until = async (holds: () => boolean): Promise<void> => {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    while (!holds()) await once(heard, 'unit', { signal });
  };
  /** Creates the link as systemd does: under another name, then renamed. */
  const start = (unit: string): void => {
    symlinkSync('0123', join(path, `.#invocation:${unit}beef`));
    renameSync(join(path, `.#invocation:${unit}beef`), join(path, `invocation:${unit}`));
  };
  return { path, clock, directory, units, until, start };
}

test('the directory reports starts and ends by unit, and only those', async (t) => {
  const { path, directory, units, until, start } = setUp(t, true);
  directory.open();
  assert.equal(units.length, 1, 'at first anything may have changed');
  assert.equal(directory.atRest('a.service'), true);
  start('a.service');
  await until(() => units.includes('a.service'));
  assert.equal(directory.atRest('a.service'), false);
  const before = units.length;
  unlinkSync(join(path, 'invocation:a.service'));
  await until(() => units.length > before);
  assert.equal(directory.atRest('a.service'), true);
  assert.deepEqual([...new Set(units)], [undefined, 'a.service']);
});

test('a directory that vanishes reports nothing more', async (t) => {
  const { path, clock, directory, until, start } = setUp(t, true);
  directory.open();
  start('a.service');
  await until(() => directory.atRest('a.service') === false);
  rmSync(path, { recursive: true });
  // The removal sends no event, so the test polls.
  while (directory.atRest('a.service') !== undefined) await turn();
  mkdirSync(path);
  clock.advance(5_000);
  assert.equal(directory.atRest('a.service'), true);
});

test('a missing directory is waited for, and reports nothing until then', (t) => {
  const { path, clock, directory, units } = setUp(t, false);
  directory.open();
  assert.equal(directory.described, `${path} is not there`);
  assert.equal(directory.atRest('a.service'), undefined);
  mkdirSync(path);
  clock.advance(5_000);
  assert.equal(directory.described, `watching ${path}`);
  assert.deepEqual(units, [undefined]);
});
