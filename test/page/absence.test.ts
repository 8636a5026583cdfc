// Requests, such as a restart, that explain why a node does not answer, and for how long.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AbsenceReason, type AnnouncedAbsence, absenceReason } from '../../src/page/absence.js';

const LOST_AT = 1_000_000;
const MINUTE_MS = 60_000;
const RUNNING = { run: { state: 'running' } } as const;

const ROWS: readonly (readonly [
  what: string,
  announced: AnnouncedAbsence['reason'] | undefined,
  isUpgrading: boolean,
  minutes: number,
  reason: AbsenceReason | undefined,
])[] = [
  ['nobody has asked for anything', undefined, false, 0, undefined],
  ['the service ended', 'restart', false, 0.5, 'restart'],
  ['the service ended, and does not come back', 'restart', false, 2, undefined],
  ['a reboot', 'reboot', false, 4, 'reboot'],
  ['a reboot that takes too long', 'reboot', false, 6, undefined],
  ['switched off', 'poweroff', false, 60 * 24, 'poweroff'],
  ['the service ends in an upgrade', 'restart', true, 20, 'upgrade'],
  ['an upgrade reboots', 'reboot', true, 1, 'reboot'],
  ['an upgrade without a word', undefined, true, 20, 'upgrade'],
  ['an upgrade that takes too long', undefined, true, 40, undefined],
];

for (const [what, announced, isUpgrading, minutes, reason] of ROWS) {
  test(`${what}, after ${minutes} minutes: ${reason ?? 'lost'}`, () => {
    const announcement = announced === undefined ? undefined : { reason: announced, at: LOST_AT };
    const upgrade = isUpgrading ? RUNNING : undefined;
    assert.equal(absenceReason(announcement, upgrade, LOST_AT, LOST_AT + minutes * MINUTE_MS), reason);
  });
}
