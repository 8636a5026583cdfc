// Rows of the table (row.ts) about systemd, power and upgrades, on scripted services of two real buses.
// house.ts describes the daemons: `house` has all keys of these rows, `plain` has the same backends with the
// defaults of most keys, `bare` has no backend, and in `cards` the logs are not served.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { ServiceRecord, UpgradeRecord } from '../../../src/protocol/actor/schemas.js';
import { until } from '../../until.js';
import { ENTRY } from '../daemon.js';
import { assertCalled, type House } from './house.js';
import type { Row } from './row.js';

const PLAYER_UNIT = '/services/user/player.service';

/** Returns a function that is true for an event of this unit with these values. */
const isUnitEvent =
  (name: string, values: Partial<ServiceRecord>) =>
  (data: string): boolean => {
    const record = JSON.parse(data) as ServiceRecord;
    const hasValues = Object.entries(values).every(
      ([key, value]) => record[key as keyof ServiceRecord] === value,
    );
    return record.name === name && hasValues;
  };

const sendLine = (socket: string, line: object): Promise<void> =>
  new Promise((resolve, reject) => {
    connect(socket)
      .on('error', reject)
      .on('close', () => resolve())
      .end(`${JSON.stringify(line)}\n`);
  });

/** Waits for an event of player.service with these values. */
const untilPlayerUnit = ({ house }: House, values: Partial<ServiceRecord>): Promise<void> =>
  house.untilEvent('service.updated', isUnitEvent('player.service', values));

export const UNIT_ROWS: readonly Row<House>[] = [
  {
    drives: ['key systemd.enabled', 'key systemd.system', 'key systemd.user', 'operation services'],
    title:
      'the units of systemd.system are listed before those of systemd.user, each in the order of the configuration',
    run: async ({ house, plain, bare }) => {
      const units = await house.read<readonly ServiceRecord[]>('/services');
      const listed = units.map(({ scope, name, url = '' }) => `${scope} ${name} ${url}`.trim());
      assert.deepEqual(listed, [
        'system other.service',
        'user player.service',
        'user spare.service http://spare.lan/',
      ]);
      assert.deepEqual(await plain.read('/services'), []);
      assert.equal(await bare.statusOf('/services'), 404);
    },
  },
  {
    drives: ['event service.updated'],
    title: 'a change of a system unit is an event',
    run: async ({ house, systemUnits }) => {
      systemUnits.set('other.service', 'active', 'running');
      await house.untilEvent('service.updated', isUnitEvent('other.service', { running: true }));
    },
  },
  {
    drives: ['operation startUnit', 'operation restartUnit', 'operation stopUnit'],
    title: 'a unit is started, restarted and stopped',
    run: async (node) => {
      await node.house.post(`${PLAYER_UNIT}/start`);
      await untilPlayerUnit(node, { running: true });
      await node.house.post(`${PLAYER_UNIT}/restart`);
      assertCalled(node.userUnits, 'RestartUnit player.service replace');
      await node.house.post(`${PLAYER_UNIT}/stop`);
      await untilPlayerUnit(node, { active_state: 'inactive' });
    },
  },
  {
    drives: ['operation enableUnit', 'operation disableUnit'],
    title: 'enabling a unit also starts it, and disabling a unit also stops it',
    run: async (node) => {
      await node.house.post(`${PLAYER_UNIT}/enable`);
      await untilPlayerUnit(node, { enabled: true, running: true });
      await node.house.post(`${PLAYER_UNIT}/disable`);
      await untilPlayerUnit(node, { enabled: false, running: false });
    },
  },
  {
    drives: ['key api.logs', 'operation unitLog'],
    title: "a unit's log is what journalctl prints, unless api.logs is false",
    run: async ({ house, cards }) => {
      // `journalctl` is a script of house.ts, which prints its arguments as one entry with the priority 5.
      const [line] = await house.read<readonly { message: string; priority: number }[]>(
        `${PLAYER_UNIT}/log?lines=7`,
      );
      assert.equal(line?.priority, 5);
      assert.match(line?.message ?? '', /--lines=7 .*player\.service/);
      // In the configuration of `cards`, `api.logs` is false.
      const [unit] = await cards.read<readonly ServiceRecord[]>('/services');
      assert.equal(unit?.name, 'player.service');
      assert.equal(await cards.statusOf(`${PLAYER_UNIT}/log`), 404);
      const { paths } = await cards.read<{ readonly paths: object }>('/openapi.json');
      assert.ok(Object.keys(paths).every((path) => !path.endsWith('/log')));
    },
  },
  {
    drives: ['key power.enabled', 'operation power'],
    title: '/power/ exists only if power.enabled is true',
    run: async ({ house, bare }) => {
      assert.deepEqual(await house.read('/power/'), { reboot: true, power_off: true });
      assert.equal(await bare.statusOf('/power/'), 404);
    },
  },
  {
    drives: ['key power.capabilities.poweroff', 'operation powerOff', 'event power.action'],
    title: 'power_off reaches logind where power.capabilities.poweroff allows it',
    run: async ({ house, plain, logind }) => {
      assert.equal((await plain.send('POST', '/power/power_off')).status, 403);
      await house.post('/power/power_off');
      // `false` is logind's argument `interactive`, here and in the row about the reboot.
      assertCalled(logind, 'PowerOff false');
      await house.untilEvent('power.action', (data) => data.includes('poweroff'));
    },
  },
  {
    drives: ['key power.capabilities.reboot', 'operation reboot'],
    title: 'reboot reaches logind where power.capabilities.reboot allows it',
    run: async ({ house, plain, logind }) => {
      assert.equal((await plain.send('POST', '/power/reboot')).status, 403);
      await house.post('/power/reboot');
      assertCalled(logind, 'Reboot false');
      await house.untilEvent('power.action', (data) => data.includes('reboot'));
    },
  },
  {
    drives: ['key upgrade.enabled', 'key upgrade.resultFile', 'operation upgrade', 'event upgrade.info'],
    title: 'a change of upgrade.resultFile is an event, and /upgrade has the new content',
    run: async ({ house, bare, path }) => {
      writeFileSync(path('result.json'), '{"current": "1.0", "latest": "1.1", "upgrade_available": true}');
      await house.untilEvent('upgrade.info', (data) => data.includes('"latest":"1.1"'));
      const { current, upgrade_available: isAvailable } = await house.read<UpgradeRecord>('/upgrade');
      assert.deepEqual([current, isAvailable], ['1.0', true]);
      assert.equal(await bare.statusOf('/upgrade'), 404);
    },
  },
  {
    drives: ['key upgrade.checkUnit', 'operation checkUpgrade', 'event upgrade.check'],
    title: 'a check starts upgrade.checkUnit, and the beginning of the check is an event',
    run: async ({ house, plain, userUnits }) => {
      await house.post('/upgrade/check');
      assertCalled(userUnits, 'StartUnit check.service replace');
      await house.untilEvent('upgrade.check', (data) => data.includes('"state":"running"'));
      await house.untilRead<UpgradeRecord>('/upgrade', ({ check }) => check?.state === 'running');
      userUnits.endRun('check.service');
      await house.untilRead<UpgradeRecord>('/upgrade', ({ check }) => check?.state === 'idle');
      assert.equal((await plain.send('POST', '/upgrade/check')).status, 404);
    },
  },
  {
    drives: ['key upgrade.upgradeUnit', 'operation startUpgrade', 'key upgrade.stateFile'],
    title: 'an upgrade runs upgrade.upgradeUnit, and is remembered in upgrade.stateFile',
    run: async ({ house, plain, userUnits, path }) => {
      await house.post('/upgrade/start');
      assertCalled(userUnits, 'StartUnit upgrade.service replace');
      await house.untilEvent('upgrade.info', (data) => data.includes('"state":"running"'));
      await until('the state file exists', () => existsSync(path('state.json')));
      assert.match(readFileSync(path('state.json'), 'utf8'), /running/);
      userUnits.endRun('upgrade.service');
      await house.untilRead<UpgradeRecord>('/upgrade', ({ run }) => run.state === 'idle');
      assert.equal((await plain.send('POST', '/upgrade/start')).status, 404);
    },
  },
  {
    drives: ['operation upgradeLog'],
    title: "the upgrade unit's log is what journalctl prints",
    run: async ({ house, plain }) => {
      const [line] = await house.read<readonly { message: string }[]>('/upgrade/log');
      assert.match(line?.message ?? '', /upgrade\.service/);
      assert.equal(await plain.statusOf('/upgrade/log'), 404);
    },
  },
  {
    drives: ['key upgrade.progressSocket', 'event upgrade.progress'],
    title: 'a line on upgrade.progressSocket is an event, also a line that tonearm progress sends',
    run: async ({ house, path }) => {
      const socket = path('progress.sock');
      await sendLine(socket, { event: 'progress', percent: 40, current: 2, step: 'fetch' });
      await house.untilEvent('upgrade.progress', (data) => data.includes('"step":"fetch"'));
      const endCommand = [ENTRY, 'progress', 'end', '--success', '--socket', socket];
      const { stderr } = spawnSync(process.execPath, endCommand);
      assert.equal(String(stderr), '');
      await house.untilEvent('upgrade.progress', (data) => data.includes('"event":"end"'));
      // The first line has begun a run, and the line `end` has ended this run.
      await house.untilRead<UpgradeRecord>('/upgrade', ({ run }) => run.state === 'idle');
    },
  },
];
