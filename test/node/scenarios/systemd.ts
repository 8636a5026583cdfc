// Scenarios of service units that a client changes: the answers and the events. systemd-others.ts has
// changes by others, and units that cannot be changed.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ServiceRecord } from '../../../src/protocol/actor/schemas.js';
import { hasValues } from '../../contract/audio-node.js';
import { until } from '../../until.js';
import { NODE_USER, type Node } from '../node.js';
import { eventsOfUnit, SystemdDaemon } from './systemd-daemon.js';
import { logScenarios } from './systemd-logs.js';
import { changesByOthersScenarios, systemScopeScenarios } from './systemd-others.js';
import { CONFIGURED_UNITS, ROWS, SLEEP, STOPPED, SYSTEM_UNITS, UNITS, USER_UNITS } from './systemd-units.js';

/** A row that is no crash loop may cause at most this many events of its unit. */
const EVENTS_MAX = 8;
/**
 * systemd starts crashing.service five times, and refuses the sixth start. Each of the six may cause three
 * events: the unit starts, fails, and waits.
 */
const LOOP_EVENTS_MAX = 18;

export function systemdScenarios(node: () => Node): void {
  const daemon = new SystemdDaemon(node);

  /**
   * True if the crash loop is over, because systemd has refused a restart. `failed` alone does not show
   * that: the unit is also `failed` between two starts. `restarts` is systemd's count of restarts with the
   * refused one. By default systemd allows five starts, and the fifth restart would be the sixth start.
   */
  const isLoopOver = async (unit: string, restarts = 5): Promise<boolean> => {
    const properties = await daemon.systemctl('show', '-p', 'SubState,NRestarts', unit);
    return /^SubState=failed$/m.test(properties) && properties.split('\n').includes(`NRestarts=${restarts}`);
  };

  before(async () => {
    await daemon.install();
    for (const [name, text] of Object.entries(UNITS)) await daemon.write(name, text);
    await daemon.shell('ln -sf real.service ~/.config/systemd/user/alias.service');
    await daemon.shell('ln -sf secret.service ~/.config/systemd/user/secret-alias.service');
    await daemon.systemctl('daemon-reload');
    await node().writeUnit('system', 'watched.service', `[Service]\n${SLEEP}`);
    await daemon.begin(CONFIGURED_UNITS);
  });
  after(() => daemon.end());

  test('the list has system units, then user units, as configured', async () => {
    const services = await daemon.services();
    // secret.service is the upgrade unit, which is hidden, also by its alias secret-alias.service.
    const visibleUserUnits = USER_UNITS.filter((name) => !name.startsWith('secret')).map(
      (name) => `user/${name}`,
    );
    const listed = services.map(({ scope, name }) => `${scope}/${name}`);
    assert.deepEqual(listed, [...SYSTEM_UNITS.map((name) => `system/${name}`), ...visibleUserUnits]);
    assert.deepEqual(await daemon.service('plain.service'), {
      name: 'plain.service',
      scope: 'user',
      ...STOPPED,
      enabled: false,
      unit_file_state: 'disabled',
      exists: true,
      description: 'A plain one',
      url: 'http://here/',
    });
    assert.deepEqual(await daemon.service('absent.service'), {
      name: 'absent.service',
      scope: 'user',
      running: false,
      enabled: false,
      exists: false,
    });
    assert.equal((await daemon.service('dbus.service')).running, true);
  });

  /** Counts the answers that name a failure which came after the end of the start job. */
  let answersWithLateFailure = 0;

  /**
   * Starts a unit whose program cannot be executed, or ends at once. The failure comes after the end of the
   * start job, and the daemon waits 100 ms for the failure. On a busy machine the failure sometimes comes
   * later. Then the answer is 202.
   */
  async function startInVain(unit: string, detail: RegExp): Promise<void> {
    const [status, actualDetail] = await daemon.post(unit, 'start');
    if (status === 202) return;
    assert.equal(status, 502, actualDetail);
    assert.match(actualDetail, detail);
    answersWithLateFailure += 1;
  }

  for (const { what, unit, verb, status, detail, record, failsAfterJob = false } of ROWS) {
    const expectedStatuses = failsAfterJob ? `${status}, or 202 if the failure comes after 100 ms` : status;
    test(`${what}: ${verb} is answered with ${expectedStatuses}`, async () => {
      const received = await daemon.listen();
      const recordBefore = (await daemon.services()).find(({ name }) => name === unit);
      const isCrashLoop = what === 'a crash loop';

      if (failsAfterJob) await startInVain(unit, detail ?? /./);
      else {
        const [actualStatus, actualDetail] = await daemon.post(unit, verb);
        assert.equal(actualStatus, status, actualDetail);
        if (detail !== undefined) assert.match(actualDetail, detail);
      }

      // A unit that is not listed has neither a record nor events.
      if (recordBefore === undefined) return;
      const isExpected = (service: ServiceRecord): boolean => hasValues(service, { ...record, name: unit });
      if (isCrashLoop) await until('the loop has ended', () => isLoopOver(unit));
      const final = failsAfterJob ? await daemon.waitFor(unit, isExpected) : await daemon.service(unit);
      assert.ok(isExpected(final), `after the answer: ${JSON.stringify(final)}`);

      await daemon.barrier(received);
      const events = eventsOfUnit(received, unit);
      // A unit without an event must be as before. Otherwise its last event must have the final record.
      if (events.length === 0) assert.deepEqual(final, recordBefore);
      else assert.deepEqual(events.at(-1), final);
      const texts = events.map((event) => JSON.stringify(event));
      const isRepeated = texts.some((text, index) => text === texts[index - 1]);
      assert.equal(isRepeated, false, 'two events in a row are the same');
      assert.ok(events.length <= (isCrashLoop ? LOOP_EVENTS_MAX : EVENTS_MAX), `${events.length} events`);
      // Only the last event may have the final record. But a unit in a crash loop is `failed` after each of
      // its starts, so several of its events may have that record.
      const finals = texts.filter((text) => text === JSON.stringify(final));
      if (!isCrashLoop) assert.ok(finals.length <= 1, `${finals.length} events have the final record`);
    });
  }

  // The answer names the failure, although none of these units is `failed` at that time. A unit with
  // ExecStopPost= first runs that program, and a unit with Restart= waits for its next start.
  for (const [unit, state] of [
    ['lingering.service', 'deactivating stop-post'],
    ['lingering-again.service', 'deactivating stop-post'],
    ['retried.service', 'activating auto-restart'],
  ] as const) {
    test(`a start of ${unit}, whose program fails, is answered with 502, or 202 if the program fails after 100 ms`, async () => {
      await startInVain(unit, /exit-code/);
      await daemon.waitFor(unit, (service) => `${service.active_state} ${service.sub_state}` === state);
      // The kill ends the program of ExecStopPost=, which would run for ever.
      if (state.endsWith('stop-post')) await daemon.systemctl('kill', unit);
      await daemon.waitFor(unit, (service) => service.active_state !== 'deactivating');
      assert.deepEqual(await daemon.post(unit, 'stop'), [202, '']);
    });
  }

  test('at least one answer to a start has named a failure that came after the end of the start job', () =>
    assert.ok(answersWithLateFailure > 0));

  test('a unit that was started too often can be started again once its program works', async () => {
    const unit = 'limited.service';
    await startInVain(unit, /exit-code/);
    // StartLimitBurst=2 allows two starts, and the second restart would be the third start.
    await until('the loop has ended', () => isLoopOver(unit, 2));
    await daemon.waitFor(unit, (service) => service.active_state === 'failed');
    // A changed unit file would prove nothing, because `daemon-reload` forgets the starts (systemd 252).
    await daemon.shell('touch "/run/user/$(id -u)/mended"');
    // systemd itself refuses the start. Before each start, tonearm resets the unit's count of starts.
    await assert.rejects(() => daemon.systemctl('start', unit));
    assert.deepEqual(await daemon.post(unit, 'start'), [202, '']);
    assert.equal((await daemon.service(unit)).running, true);
  });

  test('disable with an alias removes the alias, and stops the unit behind it if this unit is active', async () => {
    for (const state of ['active', 'inactive']) {
      const startOptions = state === 'active' ? ['--now'] : [];
      await daemon.systemctl('enable', ...startOptions, 'aliased.service');
      await daemon.waitFor(
        'other-name.service',
        (service) => service.exists && service.active_state === state,
      );
      assert.deepEqual(await daemon.post('other-name.service', 'disable'), [202, '']);
      assert.equal(await node().property('ActiveState', 'aliased.service'), 'inactive');
      const { exists, running } = await daemon.service('other-name.service');
      assert.deepEqual([exists, running], [false, false]);
    }
  });

  test('disable with an alias that was made a moment ago stops the unit behind it', async () => {
    // One round would prove little, because the daemon may have read the new alias in time.
    for (let round = 0; round < 5; round += 1) {
      await daemon.systemctl('enable', '--now', 'aliased.service');
      assert.deepEqual(await daemon.post('other-name.service', 'disable'), [202, '']);
      assert.equal(await node().property('ActiveState', 'aliased.service'), 'inactive');
    }
  });

  test('disable of a linked unit that does not run is answered with 202, and removes the link', async () => {
    await daemon.shell(`printf '[Service]\\nExecStart=sleep infinity\\n' > ~/late.service`);
    await daemon.systemctl('link', `/home/${NODE_USER}/late.service`);
    await daemon.waitFor('late.service', ({ exists }) => exists);
    assert.deepEqual(await daemon.post('late.service', 'disable'), [202, '']);
    await daemon.waitFor('late.service', ({ exists }) => !exists);
    await daemon.shell('rm ~/late.service');
  });

  test('a start is answered with 202 if its job takes longer than the daemon waits', async () => {
    assert.deepEqual(await daemon.post('endless.service', 'start'), [202, '']);
    assert.equal((await daemon.service('endless.service')).active_state, 'activating');
    const secondStart = daemon.post('endless.service', 'start');
    assert.deepEqual(await daemon.post('endless.service', 'stop'), [202, '']);
    // The stop may cancel the job of the second start, so the answer to this start may be 502.
    const [status, detail] = await secondStart;
    assert.ok([202, 502].includes(status), `${status} ${detail}`);
  });

  describe('changes of units by others', () => changesByOthersScenarios(daemon));
  describe('the system scope', () => systemScopeScenarios(daemon));
  describe('the log of a unit', () => logScenarios(daemon));
}
