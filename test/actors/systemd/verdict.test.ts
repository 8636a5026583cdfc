// From job results and states to answers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verdictOn } from '../../../src/actors/systemd/commands.js';
import { type UnitFacts, unknownUnit } from '../../../src/actors/units/facts.js';

type JobRow = readonly [
  aim: 'started' | 'stopped',
  result: string | undefined,
  facts: Partial<UnitFacts>,
  refused?: RegExp,
];

const run = (activeState: string, subState: string, more: Partial<UnitFacts> = {}) => ({
  activeState,
  subState,
  ...more,
});

const JOBS: readonly JobRow[] = [
  ['started', 'done', run('active', 'running')],
  ['started', 'done', run('active', 'exited')],
  ['started', 'done', run('inactive', 'dead')],
  ['started', 'done', run('activating', 'start')],
  ['started', 'done', run('active', 'running', { result: 'exit-code' })],
  ['started', 'done', run('active', 'running', { conditionMet: false })],
  ['started', 'done', run('failed', 'failed', { result: 'exit-code' }), /failed.*done.*exit-code/],
  ['started', 'done', run('activating', 'auto-restart', { result: 'signal' }), /again.*signal/],
  ['started', 'done', run('activating', 'auto-restart-queued', { result: 'signal' }), /again/],
  ['started', 'done', run('deactivating', 'stop-post', { result: 'exit-code' }), /failing.*exit-code/],
  ['started', 'done', run('deactivating', 'stop-sigterm', { result: 'signal' }), /failing/],
  ['started', 'done', run('deactivating', 'stop-sigterm')],
  ['started', 'done', run('inactive', 'dead', { conditionMet: false }), /condition/],
  ['started', 'done', run('inactive', 'dead', { result: 'core-dump' }), /error.*core-dump/],
  ['started', 'failed', run('failed', 'failed', { result: 'timeout' }), /result is failed.*timeout/],
  ['started', 'canceled', run('inactive', 'dead'), /canceled/],
  ['started', 'timeout', run('activating', 'start'), /timeout/],
  ['started', 'dependency', run('inactive', 'dead'), /dependency.*success/],
  ['started', 'skipped', run('inactive', 'dead'), /skipped/],
  ['started', 'assert', run('inactive', 'dead'), /assert/],
  ['started', undefined, run('active', 'running')],
  ['started', undefined, run('failed', 'failed'), /unknown/],
  ['stopped', 'done', run('inactive', 'dead')],
  ['stopped', 'done', run('failed', 'failed', { result: 'timeout' })],
  ['stopped', 'done', run('inactive', 'dead', { conditionMet: false })],
  ['stopped', 'done', run('deactivating', 'stop-post', { result: 'timeout' })],
  ['stopped', 'canceled', run('active', 'running'), /canceled/],
  ['stopped', undefined, run('active', 'running'), /still active/],
];

for (const [aim, result, facts, refused] of JOBS) {
  test(`${aim}: ${result}, ${JSON.stringify(facts)}`, () => {
    const answer = verdictOn(aim, result, { ...unknownUnit('x.service'), ...facts });
    assert.equal(answer.ok ? 'ok' : answer.fault, refused === undefined ? 'ok' : 'refused');
    if (!answer.ok && refused !== undefined) {
      assert.match(answer.detail, refused);
      assert.match(answer.detail, /^[A-Z]/);
    }
  });
}
