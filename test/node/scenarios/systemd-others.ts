// Scenarios of changes that no client of the daemon makes, and of the events that follow. Others change the
// user's units by systemctl and by files, and units of the system by systemctl. The last scenario sends
// requests that would change units of the system, and all are refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StateModel } from '../../consumer/state-model.js';
import { SpawnedText } from '../../tools/spawned.js';
import { until } from '../../until.js';
import { eventsOfUnit, type SystemdDaemon } from './systemd-daemon.js';
import { CONFIGURED_UNITS, SLEEP } from './systemd-units.js';

export function changesByOthersScenarios(daemon: SystemdDaemon): void {
  test('start, stop, enable and disable by systemctl are published, and so is a mask that a link makes', async () => {
    const received = await daemon.listen();
    await daemon.startUnit('plain.service');
    await daemon.stopUnit('plain.service');
    await daemon.systemctl('enable', 'plain.service');
    await daemon.waitFor('plain.service', ({ enabled }) => enabled);
    await daemon.systemctl('disable', 'plain.service');
    await daemon.waitFor('plain.service', ({ enabled }) => !enabled);
    await daemon.shell('cd ~/.config/systemd/user; ln -s /dev/null absent.service');
    await daemon.systemctl('daemon-reload');
    await daemon.waitFor(
      'absent.service',
      ({ exists, unit_file_state: fileState }) => exists && fileState === 'masked',
    );
    const [status] = await daemon.post('absent.service', 'start');
    assert.equal(status, 502);
    await daemon.remove('absent.service');
    await daemon.waitFor('absent.service', ({ exists }) => !exists);
    await daemon.barrier(received);
    const sent = eventsOfUnit(received, 'plain.service');
    assert.deepEqual(sent.at(-1), await daemon.service('plain.service'));
  });

  test('a unit with a new file runs without daemon-reload, and exists until its file is removed and it has stopped', async () => {
    await daemon.write('late.service', `[Unit]\nDescription=Late\n[Service]\n${SLEEP}`);
    await daemon.systemctl('start', 'late.service');
    const late = await daemon.waitFor('late.service', ({ running }) => running);
    await daemon.waitFor('late.service', ({ exists, description }) => exists && description === 'Late');
    assert.equal(late.scope, 'user');
    await daemon.remove('late.service');
    await daemon.waitFor(
      'late.service',
      ({ running, unit_file_state: fileState }) => running && fileState === undefined,
    );
    await daemon.systemctl('stop', 'late.service');
    await daemon.waitFor('late.service', ({ exists }) => !exists);
  });

  test('streams forget a unit that becomes internal, and have it again when it is no longer internal', async () => {
    const received = await daemon.listen('?snapshot=1');
    /** True if a client that keeps to the documented rules has the unit. */
    const isKnown = (): boolean => {
      const model = new StateModel();
      for (const event of received) model.apply(event);
      return model.known.units.has('user/late.service');
    };
    const isListed = async () => (await daemon.services()).some(({ name }) => name === 'late.service');
    await until('the stream has the unit', isKnown);
    // The link makes the unit an alias of the upgrade unit, which is internal (systemd-units.ts).
    await daemon.shell(
      'ln -s secret.service ~/.config/systemd/user/late.service; systemctl --user daemon-reload',
    );
    await until('the list does not have the unit', async () => !(await isListed()));
    await until('the stream has forgotten it', () => !isKnown());
    await daemon.remove('late.service');
    await until('the stream has the unit again', isKnown);
    assert.equal(await isListed(), true);
    daemon.stopListening();
  });

  test('a storm of daemon-reloads publishes no false event, and a change meanwhile is published', async () => {
    await daemon.startUnit('plain.service');
    const received = await daemon.listen();
    await daemon.shell('for i in 1 2 3 4 5 6 7 8; do systemctl --user daemon-reload; done');
    await daemon.barrier(received);
    assert.deepEqual(eventsOfUnit(received, 'plain.service'), []);

    const reload = 'systemctl --user daemon-reload';
    await daemon.shell(`${reload} & systemctl --user stop plain.service; ${reload} || true; wait`);
    await daemon.waitFor('plain.service', ({ active_state: state }) => state === 'inactive');
    await daemon.barrier(received);
    const sent = eventsOfUnit(received, 'plain.service');
    assert.equal(sent.filter(({ active_state: state }) => state === 'inactive').length, 1);
  });

  test('daemon-reexec disturbs nothing', async () => {
    await daemon.startUnit('plain.service');
    const received = await daemon.listen();
    await daemon.systemctl('daemon-reexec');
    await daemon.barrier(received);
    const isOfSystemd = (data: string): boolean => data.includes('"backend":"systemd"');
    const updates = received.filter(({ type, data }) => type === 'backend.updated' && isOfSystemd(data));
    assert.deepEqual(updates, []);
    assert.deepEqual(eventsOfUnit(received, 'plain.service'), []);
    await daemon.stopUnit('plain.service');
  });
}

interface RefusedRequest {
  readonly why: string;
  readonly unit: string;
  readonly scope: string;
  readonly status: number;
}
/** Requests that the daemon refuses, whatever their verb is. */
const REFUSED_REQUESTS: readonly RefusedRequest[] = [
  { why: 'nobody may change it', unit: 'watched.service', scope: 'system', status: 403 },
  { why: 'it is in no list', unit: 'unlisted.service', scope: 'system', status: 404 },
  { why: 'it is a unit of the user', unit: 'plain.service', scope: 'system', status: 404 },
  { why: 'it is a unit of the system', unit: 'watched.service', scope: 'user', status: 404 },
  { why: 'there is no such scope', unit: 'plain.service', scope: 'session', status: 404 },
];

export function systemScopeScenarios(daemon: SystemdDaemon): void {
  test('changes of a system unit are sent as they happen', async () => {
    const received = await daemon.listen();
    await daemon.node.root('systemctl', 'start', 'watched.service');
    await daemon.waitFor('watched.service', ({ running }) => running);
    await daemon.node.root('systemctl', 'stop', 'watched.service');
    await daemon.waitFor('watched.service', ({ active_state: state }) => state === 'inactive');
    await daemon.barrier(received);
    assert.deepEqual(
      eventsOfUnit(received, 'watched.service').at(-1),
      await daemon.service('watched.service'),
    );
  });

  test('a request for a system unit is refused, and makes the daemon send no call that could change a unit', async () => {
    const monitor = daemon.node.spawnRoot('busctl', '--system', '--json=short', 'monitor');
    const output = new SpawnedText(monitor.stdout);
    /** Sends a harmless call with this word. Resolves with true if the monitor has printed the word. */
    const ping = async (word: string) => {
      const bus = 'org.freedesktop.DBus';
      await daemon.node.shell(`busctl --system call ${bus} / ${bus} NameHasOwner s ${word}`);
      return output.text.includes(word);
    };
    await until('the monitor has its first message', () => ping('first.word'));
    for (const verb of ['start', 'stop', 'restart', 'enable', 'disable']) {
      for (const { why, unit, scope, status } of REFUSED_REQUESTS) {
        const [actualStatus] = await daemon.post(unit, verb, scope);
        assert.equal(actualStatus, status, `${verb} ${scope}/${unit}: ${why}`);
      }
    }
    // The new start makes the calls that are expected below. They show that the monitor records calls.
    await daemon.begin(CONFIGURED_UNITS);
    await until('the monitor has its last message', () => ping('last.word'));
    monitor.kill();
    const calls = output.text
      .match(/^\{.*/gm)
      ?.map((line) => JSON.parse(line))
      .filter(
        (message) => message.type === 'method_call' && message.destination === 'org.freedesktop.systemd1',
      );
    const members = new Set(calls?.map(({ member }) => member));
    assert.deepEqual([...members].sort(), ['GetAll', 'GetUnitFileState', 'Subscribe']);
  });
}
