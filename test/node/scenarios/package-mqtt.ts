// The installed node joins a broker that lies behind a network of its own: tonearm-setup, units, power, upgrades and a reboot by MQTT,
// seen with mosquitto's own clients.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../../until.js';
import type { Node } from '../node.js';
import { holdShutdown, isThere, property, shell, systemctl } from './commands.js';
import { BrokerOnNode } from './package-broker.js';
import { CONFIG, restartService, setUpPi } from './package-shell.js';

/** From the boot until the bridge has connected. */
const BACK_WITHIN_MS = 60_000;

/** Files in which tonearm-setup keeps the answers to its questions. */
const KEPT = `${CONFIG}/conf.d/50-setup.yaml /var/lib/tonearm/setup/pi`;
const UNIT = '[Service]\nExecStart=/usr/bin/sleep infinity\n[Install]\nWantedBy=default.target\n';
const ONESHOT = '[Service]\nType=oneshot\nExecStart=';
const UNITS: readonly (readonly [scope: 'system' | 'user', name: string, text: string])[] = [
  ['system', 'tock.service', UNIT],
  ['user', 'tick.service', UNIT],
  ['user', 'bad.service', `${ONESHOT}/usr/bin/false\n`],
  ['user', 'look.service', `${ONESHOT}/usr/bin/touch /home/pi/looked\n`],
  ['user', 'up.service', `${ONESHOT}/usr/bin/sleep infinity\n`],
];
const RESULT = '/home/pi/result.json';
const EXTRA = `${CONFIG}/conf.d/90-mqtt-test.yaml`;

const CLEAR = `
systemctl stop tock.service
rm -f ${RESULT} ${EXTRA} /home/pi/looked /etc/systemd/system/tock.service
cd /home/pi/.config/systemd/user
rm -f ${UNITS.map(([, name]) => name).join(' ')}
systemctl daemon-reload
for kept in ${KEPT}; do cp -p "/root/kept$kept" "$kept"; done
rm -r /root/kept
`;

export function mqttScenarios(node: () => Node): void {
  const broker = new BrokerOnNode(node);
  const userctl = (...args: readonly string[]): Promise<string> => systemctl(node(), ...args);

  before(async () => {
    await broker.start();
    await shell(node(), `mkdir /root/kept; cp -p --parents ${KEPT} /root/kept`);
    for (const unit of UNITS) await node().writeUnit(...unit);
  });
  after(async () => {
    await userctl('disable', '--now', 'tick.service');
    await broker.stop();
    await shell(node(), CLEAR);
    await userctl('daemon-reload');
    await restartService(node());
  });

  test('tonearm-setup --mqtt connects the node to the broker, and a later run keeps that', async () => {
    const units = ['--unit', 'tick.service', '--unit', 'bad.service', '--system-unit', 'tock.service'];
    await setUpPi(node(), '--mqtt', broker.url, ...units);
    await broker.holds('status', (text) => text === 'online');
    await setUpPi(node(), '--bind', 'lo');
    assert.match(
      await shell(node(), `cat ${CONFIG}/conf.d/50-setup.yaml`),
      /^mqtt: \{enabled: true, url: 'mqtt:\/\/10\.7\.0\.2'\}$/m,
    );
    await broker.holds('status', (text) => text === 'online');
  });

  test('a unit is published as systemctl changes it, and each command has its effect', async () => {
    const service = 'services/user/tick.service';
    const is = (name: string): Promise<string> => property(node(), name, 'tick.service');
    await userctl('start', 'tick.service');
    await broker.holds(service, (text) => text.includes('"running":true'));
    await broker.publish(`${service}/set`, 'stop');
    await until('the unit is stopped', async () => (await is('ActiveState')) === 'inactive');
    await broker.holds(service, (text) => text.includes('"running":false'));
    await broker.publish(`${service}/set`, 'enable');
    await until(
      'the unit is enabled and runs',
      async () => (await is('UnitFileState')) === 'enabled' && (await is('ActiveState')) === 'active',
    );
    const first = await is('MainPID');
    await broker.publish(`${service}/set`, 'restart');
    await until('the unit has another process', async () => ![first, '0'].includes(await is('MainPID')));
    await broker.publish(`${service}/set`, 'disable');
    await until(
      'the unit is disabled',
      async () => (await is('UnitFileState')) === 'disabled' && (await is('ActiveState')) === 'inactive',
    );
    await broker.publish(`${service}/set`, 'start');
    await until('the unit runs', async () => (await is('ActiveState')) === 'active');
    const system = 'services/system/tock.service';
    await broker.holds(system, (text) => text.includes('"running":false'));
    await shell(node(), 'systemctl start tock.service');
    await broker.holds(system, (text) => text.includes('"running":true'));
    for (const [unit, command, status] of [
      [service, 'explode', 404],
      ['power', 'explode', 404],
      [system, 'stop', 403],
      ['services/user/other.service', 'stop', 404],
      ['services/user/bad.service', 'start', 502],
    ] as const) {
      assert.equal(await broker.refusal(`${unit}/set`, command), status, `${unit} ${command}`);
    }
  });

  test('the power topic is what the route answers, and an inhibitor is in the error topic', async () => {
    await broker.holds('power', (text) => text === '{"reboot":true,"power_off":true}');
    const letGo = await holdShutdown(node(), 'block');
    try {
      for (const action of ['reboot', 'poweroff'])
        assert.equal(await broker.refusal('power/set', action), 409);
    } finally {
      await letGo();
    }
  });

  test('an upgrade: the detector’s file is published, a check and a start start their units', async () => {
    const configure = async (more: string): Promise<void> => {
      const upgrade = `upgrade: {enabled: true, resultFile: ${RESULT}, checkUnit: look.service${more}}\n`;
      await node().writeFile(EXTRA, upgrade);
      await shell(node(), `chown pi: ${EXTRA}`);
      await restartService(node());
    };
    const activity = (): Promise<string> => property(node(), 'ActiveState', 'up.service');
    await configure('');
    await node().writeFile(RESULT, '{"current": "1", "latest": "2", "upgrade_available": true}', '644');
    await broker.holds(
      'upgrade',
      (text) => text.includes('"latest":"2"') && text.includes('"can_check":true'),
    );
    await broker.publish('upgrade/set', 'check');
    await until('the unit has run', () => isThere(node(), '/home/pi/looked'));
    assert.equal(await broker.refusal('upgrade/set', 'start'), 404);
    await configure(', upgradeUnit: up.service');
    await broker.holds('upgrade', (text) => /"run":\{"state":"idle".*"can_upgrade":true/.test(text));
    assert.equal(await activity(), 'inactive');
    await broker.publish('upgrade/set', 'start');
    await until('the unit runs', async () => (await activity()) === 'activating');
    await broker.holds('upgrade', (text) => JSON.parse(text).run.state === 'running');
    const progress = ['progress', 'step', '--percent', '37', '--current', '1', '--step', 'download'];
    const event = JSON.parse(await broker.told('event', () => node().user('tonearm', ...progress)));
    assert.deepEqual([event.event, event.data.percent], ['upgrade.progress', 37]);
    await broker.holds('upgrade', (text) => JSON.parse(text).run.percent === 37);
    assert.equal(await broker.refusal('upgrade/set', 'start'), 409);
    await userctl('stop', 'up.service');
    await broker.holds('upgrade', (text) => JSON.parse(text).run.state !== 'running');
  });

  test('at a reboot the node publishes that it is offline, and is online again', async () => {
    await node().reboot(async () => {
      const told = broker.listen('status', 'event');
      let text = '';
      told.stdout.on('data', (bytes: Buffer) => {
        text += String(bytes);
      });
      await until('the listener gets what is retained', () => text.includes('online'));
      await broker.publish('power/set', 'reboot');
      await until('the node is offline', () => text.trim().endsWith('offline'));
      assert.deepEqual(text.trim().split('\n'), [
        'online',
        '{"event":"power.action","data":{"action":"reboot"}}',
        'offline',
      ]);
    });
    await broker.start();
    await broker.holds('status', (text) => text === 'online', BACK_WITHIN_MS);
  });
}
