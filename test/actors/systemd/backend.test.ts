// Tests which units are watched, and which of them a command may name. Also tests the backend with a scripted
// systemd manager, from the manager's signals to the published records. Internal units are units of the
// upgrade backend, and clients must not see them.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { commandTarget, SystemdBackend, watchedUnits } from '../../../src/actors/systemd/backend.js';
import type { UnitScope } from '../../../src/protocol/actor/commands.js';
import type { ServiceRecord } from '../../../src/protocol/actor/schemas.js';
import { ManualClock } from '../../manual-clock.js';
import { Recorder } from '../recorder.js';
import { ScriptedManager, settle } from '../units/scripted-manager.js';

const REFUSED = { ok: false, error: { kind: 'dbus', name: 'org.x.Error.No', text: 'refused' } } as const;

function setUp(t: TestContext, names: readonly string[] = ['x.service']) {
  const clock = new ManualClock();
  const recorder = new Recorder();
  const manager = new ScriptedManager();
  const system = names.map((name) => ({ name }));
  const settings = { enabled: true, system, user: [], internal: ['secret.service'] };
  // The scripted manager replaces the bus of the system. The bus of the user is never made, because no unit
  // of the user is configured.
  const buses = { system: manager.busOf, user: manager.busOf };
  const backend = new SystemdBackend(settings, recorder, clock, buses as never);
  for (const name of names) manager.setUnit(name, { ActiveState: 'inactive', SubState: 'dead' });
  t.after(() => backend.stop());
  return {
    manager,
    recorder,
    /** Reads the log of the first unit; returns `ok` or the reason of the refusal. */
    readLog: async () => {
      const answer = await backend.handle({ do: 'log', scope: 'system', unit: names[0] ?? '', lines: 1 });
      return answer.ok ? 'ok' : answer.error.detail;
    },
    /** The number of units whose published record has this state. */
    countIn: (state: string): number => {
      const services = recorder.all<ServiceRecord>('systemd.services');
      return services.filter((service) => service.active_state === state).length;
    },
    /** Advances the clock, and then lets promises settle. */
    pass: async (ms: number) => {
      clock.advance(ms);
      await settle();
    },
  };
}

test("if a unit gets the name of an internal unit as an alias, the unit's record is dropped, and its log is refused", async (t) => {
  const { manager, recorder, countIn, readLog, pass } = setUp(t);
  await manager.up();
  assert.equal(countIn('inactive'), 1);

  manager.setUnit('x.service', { Names: ['x.service', 'secret.service'] });
  // A reload ends here. Then `UnitFollower` waits 50 ms and reads the unit. `ServicePublisher` publishes the
  // change 50 ms later.
  manager.sendReloading(false);
  await pass(50);
  await pass(50);

  assert.deepEqual(recorder.all('systemd.services'), []);
  assert.equal(await readLog(), 'No system unit "x.service" is configured');
});

/** A connection may have at most 256 calls at once (scripted-manager.ts). This list has more names. */
const MANY_NAMES = Array.from({ length: 300 }, (_, index) => `unit-${index}.service`);

test('the backend is up only after systemd has agreed to send signals, and it then has the records of all 300 units', async (t) => {
  const { manager, recorder, countIn, readLog, pass } = setUp(t, MANY_NAMES);
  manager.refusals.set('Subscribe', REFUSED);
  await manager.up();
  assert.equal(recorder.state, 'connecting: system scope: refused');
  assert.equal(await readLog(), "Not connected to the system's systemd: refused");

  for (const name of MANY_NAMES) manager.setUnit(name, { ActiveState: 'active' });
  manager.refusals.clear();
  // The next attempt to subscribe comes after 250 ms (`backoffMs` in host/clock.ts).
  await pass(250);
  assert.deepEqual([recorder.state, countIn('active')], ['up', MANY_NAMES.length]);
});

/** `up.service` is configured for the user, but it is also internal. */
const WATCHED = watchedUnits({
  system: [{ name: 'sys.service' }, { name: 'both.service' }],
  user: [{ name: 'one.service', url: 'http://x/' }, { name: 'both.service' }, { name: 'up.service' }],
  internal: ['up.service', 'check.service'],
});

test('system units come before user units, both in their configured order, and internal units are left out', () => {
  const keys = WATCHED.map(({ key }) => key.replace('.service', ''));
  assert.deepEqual(keys, ['system/sys', 'system/both', 'user/one', 'user/both']);
  assert.equal(WATCHED[2]?.url, 'http://x/');
  assert.equal(Object.hasOwn(WATCHED[0] ?? {}, 'url'), false);
});

/** `keyOrFault`: the key of the started unit, or the fault. No command can start a unit of the system. */
const START_COMMANDS: readonly (readonly [scope: UnitScope, unit: string, keyOrFault: string])[] = [
  ['user', 'one.service', 'user/one.service'],
  ['user', 'both.service', 'user/both.service'],
  ['system', 'both.service', 'read-only-scope'],
  ['system', 'sys.service', 'read-only-scope'],
  ['system', 'one.service', 'no-such-unit'],
  ['user', 'sys.service', 'no-such-unit'],
  ['user', 'up.service', 'no-such-unit'],
  ['user', 'check.service', 'no-such-unit'],
  ['user', 'one', 'no-such-unit'],
  ['user', '', 'no-such-unit'],
  ['user', 'ONE.service', 'no-such-unit'],
  ['user', '__proto__', 'no-such-unit'],
  ['user', 'a'.repeat(300), 'no-such-unit'],
];

for (const [scope, unit, keyOrFault] of START_COMMANDS) {
  test(`a command to start the ${scope} unit "${unit.slice(0, 20)}" leads to ${keyOrFault}`, () => {
    const target = commandTarget(WATCHED, { do: 'start', scope, unit });
    assert.equal(target.ok ? target.value.key : target.error.fault, keyOrFault);
  });
}
