// System units: their state is sent live, and no request changes them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '../../tools/spawned.js';
import { until } from '../../until.js';
import { eventsOfUnit, type SystemdDaemon } from './systemd-daemon.js';
import { LISTS } from './systemd-units.js';

export function systemScopeScenarios(daemon: SystemdDaemon): void {
  test('changes of a system unit are sent as they happen', async () => {
    const heard = await daemon.listen();
    await daemon.node.root('systemctl', 'start', 'watched.service');
    await daemon.sees('watched.service', ({ running }) => running);
    await daemon.node.root('systemctl', 'stop', 'watched.service');
    await daemon.sees('watched.service', ({ active_state: state }) => state === 'inactive');
    await daemon.barrier(heard);
    assert.deepEqual(eventsOfUnit(heard, 'watched.service').at(-1), await daemon.service('watched.service'));
  });

  test('no request changes a system unit, nor sends a call that could', async () => {
    const monitor = daemon.node.spawnRoot('busctl', '--system', '--json=short', 'monitor');
    const seen = textOf(monitor.stdout);
    const ping = async (word: string) => {
      const bus = 'org.freedesktop.DBus';
      await daemon.node.shell(`busctl --system call ${bus} / ${bus} NameHasOwner s ${word}`);
      return seen().includes(word);
    };
    await until('the monitor has its first message', () => ping('first.word'));
    for (const verb of ['start', 'stop', 'restart', 'enable', 'disable']) {
      assert.equal((await daemon.post('watched.service', verb, 'system'))[0], 403);
      assert.equal((await daemon.post('unlisted.service', verb, 'system'))[0], 404);
      assert.equal((await daemon.post('plain.service', verb, 'system'))[0], 404);
      assert.equal((await daemon.post('watched.service', verb))[0], 404);
      assert.equal((await daemon.post('plain.service', verb, 'session'))[0], 404);
    }
    await daemon.begin(LISTS);
    await until('the monitor has its last message', () => ping('last.word'));
    monitor.kill();
    const members = seen()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
      .filter(({ type, destination }) => type === 'method_call' && destination === 'org.freedesktop.systemd1')
      .map(({ member }) => member);
    // Beginning anew, it was seen at all.
    assert.deepEqual([...new Set(members)].sort(), ['GetAll', 'GetUnitFileState', 'Subscribe']);
  });
}
