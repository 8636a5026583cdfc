// Job results, states and D-Bus errors -> answers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BusError } from '../../../src/actors/bus.js';
import { type Aim, judgeError, judgeJob } from '../../../src/actors/systemd/judge.js';
import { type UnitFacts, unknownUnit } from '../../../src/actors/systemd/unit-facts.js';

type JobRow = readonly [aim: Aim, result: string | undefined, facts: Partial<UnitFacts>, refused?: RegExp];

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
  ['started', 'done', run('inactive', 'dead', { conditionMet: false }), /condition/],
  ['started', 'done', run('inactive', 'dead', { result: 'core-dump' }), /badly.*core-dump/],
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
  ['stopped', 'canceled', run('active', 'running'), /canceled/],
  ['stopped', undefined, run('active', 'running'), /active all the same/],
];

for (const [aim, result, facts, refused] of JOBS) {
  test(`${aim}: ${result}, ${JSON.stringify(facts)}`, () => {
    const answer = judgeJob(aim, result, { ...unknownUnit('x.service'), ...facts });
    assert.equal(answer.ok ? 'ok' : answer.fault, refused === undefined ? 'ok' : 'refused');
    if (!answer.ok && refused !== undefined) assert.match(answer.detail, refused);
  });
}

const dbus = (name: string, text = ''): BusError => ({ kind: 'dbus', name, text });

const ERRORS: readonly (readonly [error: BusError, fault: string, detail: RegExp])[] = [
  [{ kind: 'timeout' }, 'timeout', /no answer/],
  [{ kind: 'closed' }, 'unavailable', /lost/],
  [{ kind: 'local', detail: 'too many' }, 'internal', /too many/],
  [dbus('org.freedesktop.DBus.Error.ServiceUnknown', 'nobody'), 'unavailable', /nobody/],
  [dbus('org.freedesktop.DBus.Error.NoReply'), 'unavailable', /away/],
  [dbus('org.freedesktop.DBus.Error.Spawn.ChildExited'), 'unavailable', /away/],
  [
    dbus('org.freedesktop.systemd1.NoSuchUnit', 'x not found.'),
    'refused',
    /^x not found\. \(.*NoSuchUnit\)$/,
  ],
  [dbus('org.freedesktop.systemd1.UnitMasked'), 'refused', /^org\.freedesktop\.systemd1\.UnitMasked$/],
  [dbus('org.freedesktop.DBus.Error.AccessDenied', 'no'), 'refused', /AccessDenied/],
];

for (const [error, fault, detail] of ERRORS) {
  test(`${JSON.stringify(error)} is ${fault}`, () => {
    const answer = judgeError(error);
    assert.ok(!answer.ok);
    assert.equal(answer.fault, fault);
    assert.match(answer.detail, detail);
  });
}
