// A session bus that goes away and comes back: what clients see of their units then. Every bus and manager under load: faults/table.ts.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../../until.js';
import type { Node } from '../node.js';
import { eventsOfUnit, SystemdDaemon } from './systemd-daemon.js';

const SLEEP = '[Service]\nExecStart=sleep infinity\n[Install]\nWantedBy=default.target\n';
const LISTS = '{system: [away-system.service], user: [away-one.service, away-two.service]}';

export function systemdOutageScenarios(node: () => Node): void {
  const daemon = new SystemdDaemon(node);
  /** Once it is up: what it does before is its own start, and no matter of these tests. */
  const audioState = (): Promise<unknown> =>
    until('the audio backend is up', async () => {
      const { audio } = JSON.parse((await daemon.ask('GET', '/health')).text).backends;
      // Its detail may come later: whether there is a sound card.
      const { state, since, restarts } = audio;
      return state === 'up' && { state, since, restarts };
    });

  before(async () => {
    await daemon.install();
    await daemon.write('away-one.service', SLEEP);
    await daemon.write('away-two.service', SLEEP);
    await daemon.systemctl('daemon-reload');
    await node().writeUnit('system', 'away-system.service', SLEEP);
  });
  after(() => daemon.end());

  test('without the session bus: 503, then the current state; other backends do not notice', async () => {
    await daemon.begin(LISTS);
    assert.equal((await daemon.post('away-one.service', 'start'))[0], 202);
    const heard = await daemon.listen();
    const audio = await audioState();
    await daemon.systemctl('mask', '--runtime', 'dbus.socket');
    await daemon.shell('systemctl --user stop dbus.socket dbus.service');
    assert.match(await daemon.is('connecting'), /^user scope: /);
    assert.equal((await daemon.ask('GET', '/services')).status, 503);
    const [status] = await daemon.post('away-one.service', 'stop');
    assert.equal(status, 503);
    // These commands use systemd's own socket, not the bus that the daemon watches.
    await daemon.systemctl('stop', 'away-one.service');
    await daemon.systemctl('start', 'away-two.service');
    // The other scope goes on.
    await node().root('systemctl', 'start', 'away-system.service');
    await until(
      'the system unit is published',
      () => eventsOfUnit(heard, 'away-system.service').at(-1)?.running,
    );
    await daemon.systemctl('unmask', '--runtime', 'dbus.socket');
    await daemon.systemctl('start', 'dbus.socket');
    await daemon.is('up', /^$/);
    assert.deepEqual(
      (await daemon.services()).map(({ name, active_state: state }) => [name, state]),
      [
        ['away-system.service', 'active'],
        ['away-one.service', 'inactive'],
        ['away-two.service', 'active'],
      ],
    );
    assert.deepEqual(await audioState(), audio);
    for (const service of await daemon.services()) {
      const told = () => eventsOfUnit(heard, service.name);
      await until(`${service.name} is published`, () => {
        assert.deepEqual(told().at(-1), service);
        return true;
      });
      assert.equal(told().filter((each) => JSON.stringify(each) === JSON.stringify(service)).length, 1);
    }
    await node().root('systemctl', 'stop', 'away-system.service');
    await daemon.systemctl('stop', 'away-two.service');
  });
}
