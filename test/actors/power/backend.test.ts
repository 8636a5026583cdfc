// The power backend over a real socket to a scripted logind: each answer of logind and its consequence.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { PowerBackend } from '../../../src/actors/power/backend.js';
import type { Answer } from '../../../src/protocol/actor/commands.js';
import type { FaultCode } from '../../../src/protocol/actor/faults.js';
import { until } from '../../until.js';
import { faultOf, Recorder } from '../recorder.js';
import { type LockRow, type LogindScript, methodsCalled, scriptedLogind } from './logind-script.js';

const BOTH = { poweroff: true, reboot: true };
const SILENT = /"silent":true/;
const ERRORS = 'org.freedesktop.DBus.Error';

async function bench(t: TestContext, first: LogindScript = {}, capabilities = BOTH) {
  let script = first;
  const bus = await scriptedLogind(t, () => script);
  const recorder = new Recorder();
  // The deadline is short only where no answer is expected.
  const callDeadlineMs = SILENT.test(JSON.stringify(first)) ? 1000 : 10_000;
  const options = { paths: bus.paths, callDeadlineMs, backoffMs: () => 20 };
  const backend = new PowerBackend({ enabled: true, capabilities }, recorder, options);
  t.after(() => backend.stop());
  await until('the backend is up', () => recorder.up);
  /** Sets logind's answers from now on. */
  const become = (next: LogindScript): void => {
    script = next;
  };
  return { backend, recorder, become, called: () => methodsCalled(bus) };
}

const actions = ({ published }: Recorder) => published.filter((line) => line.startsWith('put'));
const record = (answer: Answer): unknown =>
  answer.ok ? JSON.parse(answer.value.text ?? 'null') : answer.error.fault;

const ODD = { error: 'org.example.Odd', text: 'odd' };
const DENIED = { error: `${ERRORS}.AccessDenied` };
const GONE = { gone: true } as const;
const LATE = { silent: true } as const;
const NOTHING = { reboot: false, power_off: false };

const STATUS: readonly (readonly [
  what: string,
  LogindScript,
  capabilities: typeof BOTH,
  expected: unknown,
])[] = [
  ['yes', {}, BOTH, { reboot: true, power_off: true }],
  ['no', { can: 'no' }, BOTH, NOTHING],
  ['challenge', { can: 'challenge' }, BOTH, NOTHING],
  ['na', { can: 'na' }, BOTH, NOTHING],
  ['yes, but only reboot is on', {}, { poweroff: false, reboot: true }, { reboot: true, power_off: false }],
  ['yes, but only power-off is on', {}, { poweroff: true, reboot: false }, { ...NOTHING, power_off: true }],
  ['yes, but nothing is on', {}, { poweroff: false, reboot: false }, NOTHING],
  ['that polkit is masked', { can: { error: 'org.freedesktop.systemd1.UnitMasked' } }, BOTH, 'unavailable'],
  ['that polkit is not installed', { can: DENIED }, BOTH, 'unavailable'],
  ['that logind is away', { can: { error: `${ERRORS}.ServiceUnknown` } }, BOTH, 'unavailable'],
  ['nothing, and the bus ends', { can: GONE }, BOTH, 'unavailable'],
  ['nothing in time', { can: LATE }, BOTH, 'timeout'],
  ['an error nobody knows', { can: ODD }, BOTH, 'unavailable'],
];

for (const [what, script, capabilities, expected] of STATUS) {
  test(`the status when logind answers ${what}`, async (t) => {
    const { backend } = await bench(t, script, capabilities);
    assert.deepEqual(record(await backend.handle({ do: 'status' })), expected);
  });
}

type Refusal = readonly [what: string, script: LogindScript, fault: FaultCode, detail: RegExp];

const lock = (who: string, why: string, mode = 'block', what = 'shutdown'): LockRow => [what, who, why, mode];
const MANY = Array.from({ length: 7 }, (_, i) => lock(`who${i}`, 'w'));
const APT = lock('apt', 'half-way', 'block', 'sleep:shutdown');
const LONG_TALE = lock('x'.repeat(5000), 'line\nbreak');
const PASSWORD = { error: `${ERRORS}.InteractiveAuthorizationRequired` };
const BUSY = { error: 'org.freedesktop.login1.OperationInProgress', text: 'busy' };
const LOCKED = { error: 'org.freedesktop.login1.BlockedByInhibitorLock' };
const SHUTTING_DOWN = { error: 'org.freedesktop.systemd1.ShuttingDown' };

const REFUSALS: readonly Refusal[] = [
  ['challenge', { can: 'challenge' }, 'not-granted', /login1\.reboot, .*login1\.reboot-multiple-sessions/],
  ['no', { can: 'no' }, 'not-granted', /"no"/],
  ['na', { can: 'na' }, 'not-granted', /this machine cannot/],
  ['it is blocked', { can: 'challenge', locks: [APT] }, 'inhibited', /"apt" \(process 42\): "half-way"/],
  ['yes, though the own user blocks it', { locks: [lock('upgrade', 'flash')] }, 'inhibited', /"upgrade"/],
  ['that a weak lock blocks it', { locks: [lock('a', 'b', 'block-weak')] }, 'inhibited', /"a"/],
  ['that many block it', { locks: MANY }, 'inhibited', /"who4".*and 2 more$/],
  ['that a long tale blocks it', { locks: [LONG_TALE] }, 'inhibited', /x{200}\.\.\." .*"line\\nbreak"$/],
  ['yes, then that it needs a password', { order: PASSWORD }, 'not-granted', /Interactive/],
  ['yes, then denies it', { order: DENIED }, 'not-granted', /AccessDenied/],
  ['yes, then that it is going down', { order: BUSY }, 'in-progress', /busy/],
  ['yes, then that a lock came', { order: LOCKED }, 'inhibited', /Blocked/],
  ['that systemd is shutting down', { can: SHUTTING_DOWN }, 'in-progress', /Shutting/],
  ['that polkit is away', { can: DENIED }, 'unavailable', /could not be asked/],
  ['no locks in time', { locks: LATE }, 'timeout', /in time/],
  ['no locks at all', { locks: ODD }, 'unavailable', /org\.example\.Odd/],
  ['yes, then nothing in time', { order: LATE }, 'timeout', /The reboot was not accepted/],
  ['yes, then the bus ends', { order: GONE }, 'unavailable', /connection to the bus was lost/],
  ['yes, then an odd error', { order: ODD }, 'refused', /odd \(org\.example\.Odd\)$/],
];

for (const [what, script, fault, detail] of REFUSALS) {
  test(`a reboot when logind answers ${what} is ${fault}: ${detail.source}`, async (t) => {
    const { backend, recorder } = await bench(t, script);
    const answer = await backend.handle({ do: 'reboot' });
    assert.ok(!answer.ok);
    assert.equal(answer.error.fault, fault, answer.error.detail);
    assert.match(answer.error.detail, detail);
    assert.match(answer.error.detail, /^[A-Z]/);
    assert.deepEqual(actions(recorder), []);
  });
}

for (const [action, method] of [['reboot', 'Reboot'] as const, ['poweroff', 'PowerOff'] as const]) {
  test(`${action}: logind is asked whether it may, then called, and the event is sent before the answer`, async (t) => {
    const harmless = [lock('a', 'b', 'delay'), lock('a', 'b', 'block', 'sleep:handle-power-key')];
    const { backend, recorder, called } = await bench(t, { locks: harmless });
    const answer = await backend.handle({ do: action });
    recorder.published.push(JSON.stringify(answer));
    assert.deepEqual(recorder.published, ['up', 'put power.action', '{"ok":true,"value":{}}']);
    assert.deepEqual(recorder.one('power.action'), { action });
    assert.deepEqual(called(), [`Can${method}`, 'ListInhibitors', method]);
  });

  test(`${action} that is disabled never reaches logind`, async (t) => {
    const { backend, called } = await bench(t, {}, { poweroff: false, reboot: false });
    assert.equal(faultOf(await backend.handle({ do: action })), 'capability-off');
    assert.deepEqual(called(), []);
  });
}

test('only one of two requests at once is carried out, and a refused request does not block a later one', async (t) => {
  const { backend, become, called, recorder } = await bench(t, { can: 'challenge' });
  assert.equal((await backend.handle({ do: 'reboot' })).ok, false);
  become({});
  const orders = ['reboot', 'reboot', 'poweroff'] as const;
  const answers = await Promise.all(orders.map((action) => backend.handle({ do: action })));
  assert.deepEqual(answers.map(faultOf), ['none', 'in-progress', 'in-progress']);
  const acts = called().filter((method) => /^(Reboot|PowerOff)$/.test(method));
  assert.deepEqual(acts, ['Reboot']);
  assert.equal(actions(recorder).length, 1);
});

const NO_REPLY = { error: `${ERRORS}.NoReply` };
const REBOOTS = { begins: 'reboot.target' };
const POWERS_OFF = { begins: 'poweroff.target' };

/** systemd starts a unit before the answer to the order, or instead of it. */
const RACES: readonly (readonly [what: string, script: LogindScript, expected: FaultCode | 'none'])[] = [
  ['a reboot, and the power-off is refused', { ...REBOOTS, order: BUSY }, 'in-progress'],
  ['a reboot, and the bus ends', { ...REBOOTS, order: GONE }, 'unavailable'],
  ['another power-off, and this one is refused', { ...POWERS_OFF, order: BUSY }, 'in-progress'],
  ['the power-off, and the bus ends before the reply', { ...POWERS_OFF, order: GONE }, 'none'],
  ['the power-off, and logind ends before the reply', { ...POWERS_OFF, order: NO_REPLY }, 'none'],
  ['the power-off, and nothing follows', { ...POWERS_OFF, order: LATE }, 'none'],
  ['a power-off, but logind never got the order', { ...POWERS_OFF, order: SHUTTING_DOWN }, 'in-progress'],
];

for (const [what, script, expected] of RACES) {
  test(`systemd begins ${what}: ${expected}`, async (t) => {
    const { backend, recorder } = await bench(t, script);
    assert.equal(faultOf(await backend.handle({ do: 'poweroff' })), expected);
    assert.deepEqual(actions(recorder), expected === 'none' ? ['put power.action'] : []);
  });
}

test('actions that systemd began before the request are ignored', async (t) => {
  const { backend, recorder, become } = await bench(t, { ...REBOOTS, order: BUSY });
  await backend.handle({ do: 'reboot' });
  become({ order: GONE });
  assert.equal(record(await backend.handle({ do: 'reboot' })), 'unavailable');
  assert.deepEqual(actions(recorder), []);
});

test('the backend is connecting and unavailable when the bus ends, and up when it returns', async (t) => {
  const { backend, become, recorder } = await bench(t, { can: GONE });
  assert.equal(record(await backend.handle({ do: 'status' })), 'unavailable');
  await until('the loss is noticed', () => recorder.published.some((line) => line.startsWith('connecting')));
  become({});
  recorder.published.length = 0;
  await until('the bus is back', () => recorder.published.includes('up'));
  assert.deepEqual(record(await backend.handle({ do: 'status' })), { reboot: true, power_off: true });
});
