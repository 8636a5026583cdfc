// Runs inside the node, started by bus.ts as `node bus-inside.js inside`, as pi: the D-Bus wrapper over the node's real buses.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { SystemBus, UserBus } from '../../../src/actors/bus/bus.js';
import { LogindBus } from '../../../src/actors/bus/logind.js';
import { LOGIND_ERRORS, LOGIND_METHODS } from '../../../src/protocol/dbus/logind.js';
import { signalValues } from '../../../src/protocol/dbus/method.js';
import { readProperties } from '../../../src/protocol/dbus/properties.js';
import {
  SYSTEMD_ERRORS,
  SYSTEMD_METHODS,
  SYSTEMD_NAME,
  SYSTEMD_PATH,
  SYSTEMD_SIGNALS,
  UNIT_INTERFACE,
  UNIT_PROPERTIES,
  unitPath,
} from '../../../src/protocol/dbus/systemd.js';
import { NotingOwner } from '../../actors/bus/noting-owner.js';

const run = promisify(execFile);

function over<B extends { stop(): void }>(
  t: TestContext,
  Kind: new (options: ConstructorParameters<typeof UserBus>[0], owner: NotingOwner) => B,
): { bus: B; owner: NotingOwner } {
  const owner = new NotingOwner();
  const bus = new Kind({ backoffMs: (attempt) => (attempt === 0 ? 0 : 50) }, owner);
  t.after(() => bus.stop());
  return { bus, owner };
}

function declareTests(): void {
  test('a unit is started over the user bus: job, signals, properties', async (t) => {
    const { bus, owner } = over(t, UserBus);
    await owner.noted(/^up/);
    assert.deepEqual(await bus.call(SYSTEMD_METHODS.subscribe, []), { ok: true, value: undefined });
    // Without the last part the job of the template's slice would come too.
    await bus.watch({
      sender: SYSTEMD_NAME,
      path: SYSTEMD_PATH,
      member: 'JobRemoved',
      arg2: 'tpl@500.service',
    });
    const job = await bus.call(SYSTEMD_METHODS.startUnit, ['tpl@500.service', 'replace']);
    assert.ok(job.ok, JSON.stringify(job));
    await owner.noted(/JobRemoved/);
    const removed = owner.signals.map((signal) => signalValues(SYSTEMD_SIGNALS.jobRemoved, signal));
    assert.ok(removed.some((values) => values?.[1] === job.value && values[3] === 'done'));

    const path = unitPath('tpl@500.service');
    assert.deepEqual(await bus.call(SYSTEMD_METHODS.loadUnit, ['tpl@500.service']), {
      ok: true,
      value: path,
    });
    const all = await bus.call(SYSTEMD_METHODS.getAll, [''], { path });
    assert.ok(all.ok);
    const unit = readProperties(UNIT_PROPERTIES, all.value);
    assert.deepEqual(Object.keys(unit).sort(), Object.keys(UNIT_PROPERTIES).sort());
    assert.deepEqual([unit.ActiveState, unit.SubState, unit.InvocationID?.length], ['active', 'running', 16]);
    assert.equal(all.value['MemoryMax'], 18446744073709551615n, 'what is no exact number stays a bigint');

    const missing = await bus.call(SYSTEMD_METHODS.getAll, [UNIT_INTERFACE], {
      path: unitPath('absent.service'),
    });
    assert.ok(missing.ok);
    const { LoadState, ActiveState } = readProperties(UNIT_PROPERTIES, missing.value);
    assert.deepEqual([LoadState, ActiveState], ['not-found', 'inactive']);
    const absent = await bus.call(SYSTEMD_METHODS.startUnit, ['absent.service', 'replace']);
    assert.ok(!absent.ok && absent.error.kind === 'dbus');
    assert.equal(absent.error.name, SYSTEMD_ERRORS.noSuchUnit);
    assert.equal((await bus.call(SYSTEMD_METHODS.stopUnit, ['tpl@500.service', 'replace'])).ok, true);
  });

  test('the system bus is read', async (t) => {
    const { bus, owner } = over(t, SystemBus);
    await owner.noted(/^up/);
    const state = await bus.call(SYSTEMD_METHODS.getUnitFileState, ['dbus.service']);
    assert.deepEqual(state, { ok: true, value: 'static' });
  });

  test('logind answers, its inhibitors are listed, and it refuses without polkit', async (t) => {
    const { bus, owner } = over(t, LogindBus);
    await owner.noted(/^up/);
    assert.deepEqual(await bus.call(LOGIND_METHODS.canReboot, []), { ok: true, value: 'challenge' });
    assert.deepEqual(await bus.call(LOGIND_METHODS.listInhibitors, []), { ok: true, value: [] });
    const refused = await bus.call(LOGIND_METHODS.reboot, [false]);
    assert.ok(!refused.ok && refused.error.kind === 'dbus');
    assert.equal(refused.error.name, LOGIND_ERRORS.interactiveAuthorizationRequired);
  });

  test('the restart of the session bus and of systemd itself are noticed', async (t) => {
    const { bus, owner } = over(t, UserBus);
    owner.onUp = async () => {
      const watched = await bus.watch({ sender: SYSTEMD_NAME, path: SYSTEMD_PATH, member: 'Reloading' });
      if (!watched.ok) throw new Error(watched.error.kind);
    };
    const up = await owner.noted(/^up/);
    await run('systemctl', ['--user', 'daemon-reexec']);
    const back = await owner.noted(/^owner of org\.freedesktop\.systemd1: true/);
    assert.ok(back > up);
    await run('systemctl', ['--user', 'restart', 'dbus.service']);
    const down = await owner.noted(/^down/);
    await owner.noted(/^up/, down);
    assert.equal((await bus.call(SYSTEMD_METHODS.getUnitFileState, ['dbus.service'])).ok, true);
  });
}

// Without the word this file was not started by bus.ts, and has nothing to say.
if (process.argv[2] === 'inside') declareTests();
