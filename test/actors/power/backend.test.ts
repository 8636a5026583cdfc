// Tests what the power backend answers and publishes after each answer of logind. The logind is scripted, and
// has a real socket.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { PowerBackend } from '../../../src/actors/power/backend.js';
import type { Answer } from '../../../src/protocol/actor/commands.js';
import type { FaultCode } from '../../../src/protocol/actor/faults.js';
import { until } from '../../until.js';
import { faultOf, Recorder } from '../recorder.js';
import { type LockRow, type LogindScript, methodsCalled, scriptedLogind } from './logind-script.js';

const BOTH = { poweroff: true, reboot: true };
const NO_ANSWER = { silent: true } as const;
const ERRORS = 'org.freedesktop.DBus.Error';

/** Starts a scripted logind and the backend, and waits until the backend is up. */
async function startPower(t: TestContext, firstScript: LogindScript = {}, capabilities = BOTH) {
  let script = firstScript;
  const bus = await scriptedLogind(t, () => script);
  const recorder = new Recorder();
  const { can, locks, order } = firstScript;
  const isAnswerMissing = [can, locks, order].includes(NO_ANSWER);
  // The deadline is short only where the test waits until it has passed.
  const callDeadlineMs = isAnswerMissing ? 1000 : 10_000;
  const options = { paths: bus.paths, callDeadlineMs, backoffMs: () => 20 };
  const backend = new PowerBackend({ enabled: true, capabilities }, recorder, options);
  t.after(() => backend.stop());
  await until('the backend is up', () => recorder.isUp);
  /** Sets logind's answers from now on. */
  const setScript = (next: LogindScript): void => {
    script = next;
  };
  return { backend, recorder, setScript, called: () => methodsCalled(bus) };
}

const publishedActions = ({ published }: Recorder) => published.filter((line) => line.startsWith('put'));
const recordOrFault = (answer: Answer): unknown =>
  answer.ok ? JSON.parse(answer.value.text ?? 'null') : answer.error.fault;

const ODD_ERROR = { error: 'org.example.Odd', text: 'odd' };
/** logind's answer to `CanReboot` if polkit is missing, and to `Reboot` if polkit forbids the reboot. */
const DENIED = { error: `${ERRORS}.AccessDenied` };
const BUS_ENDS = { gone: true } as const;
const NEITHER_ALLOWED = { reboot: false, power_off: false };

const STATUS: readonly (readonly [
  what: string,
  script: LogindScript,
  capabilities: typeof BOTH,
  expected: unknown,
])[] = [
  ['yes', {}, BOTH, { reboot: true, power_off: true }],
  ['no', { can: 'no' }, BOTH, NEITHER_ALLOWED],
  ['challenge', { can: 'challenge' }, BOTH, NEITHER_ALLOWED],
  ['na', { can: 'na' }, BOTH, NEITHER_ALLOWED],
  [
    'yes, but only the reboot is enabled',
    {},
    { poweroff: false, reboot: true },
    { reboot: true, power_off: false },
  ],
  [
    'yes, but only the power-off is enabled',
    {},
    { poweroff: true, reboot: false },
    { ...NEITHER_ALLOWED, power_off: true },
  ],
  ['yes, but neither is enabled', {}, { poweroff: false, reboot: false }, NEITHER_ALLOWED],
  ['that polkit is masked', { can: { error: 'org.freedesktop.systemd1.UnitMasked' } }, BOTH, 'unavailable'],
  ['that polkit is not installed', { can: DENIED }, BOTH, NEITHER_ALLOWED],
  [
    'nothing, because it is not on the bus',
    { can: { error: `${ERRORS}.ServiceUnknown` } },
    BOTH,
    'unavailable',
  ],
  ['nothing, and the bus ends', { can: BUS_ENDS }, BOTH, 'unavailable'],
  ['nothing in time', { can: NO_ANSWER }, BOTH, 'timeout'],
  ['with an unknown error', { can: ODD_ERROR }, BOTH, 'unavailable'],
];

for (const [what, script, capabilities, expected] of STATUS) {
  test(`the status is ${JSON.stringify(expected)} when logind answers ${what}`, async (t) => {
    const { backend } = await startPower(t, script, capabilities);
    assert.deepEqual(recordOrFault(await backend.handle({ do: 'status' })), expected);
  });
}

type Refusal = readonly [what: string, script: LogindScript, fault: FaultCode, detail: RegExp];

/** Process 42 has every lock (logind-script.ts). */
const lock = ({ who = 'a', why = 'b', mode = 'block', what = 'shutdown' }): LockRow => [what, who, why, mode];
/** A refusal names five locks, and counts the others (`NAMED_MAX_INHIBITORS` in power/backend.ts). */
const MANY_LOCKS = Array.from({ length: 7 }, (_, i) => lock({ who: `who${i}` }));
const APT_LOCK = lock({ who: 'apt', why: 'half-way', what: 'sleep:shutdown' });
/** A refusal quotes 200 characters of this name (`QUOTED_MAX_CHARACTERS` in power/backend.ts). */
const LONG_LOCK = lock({ who: 'x'.repeat(5000), why: 'line\nbreak' });
const PASSWORD_NEEDED = { error: `${ERRORS}.InteractiveAuthorizationRequired` };
const BUSY = { error: 'org.freedesktop.login1.OperationInProgress', text: 'busy' };
const LOCKED = { error: 'org.freedesktop.login1.BlockedByInhibitorLock' };
const SHUTTING_DOWN = { error: 'org.freedesktop.systemd1.ShuttingDown' };

/** logind's first answer is to the question `CanReboot`. The answer after `then` is to the order `Reboot`. */
const REFUSALS: readonly Refusal[] = [
  ['challenge', { can: 'challenge' }, 'not-granted', /login1\.reboot, .*login1\.reboot-multiple-sessions/],
  ['no', { can: 'no' }, 'not-granted', /"no"/],
  ['na', { can: 'na' }, 'not-granted', /this machine cannot/],
  [
    'challenge, while a program blocks it',
    { can: 'challenge', locks: [APT_LOCK] },
    'inhibited',
    /"apt" \(process 42\): "half-way"/,
  ],
  // Before systemd 257, logind ignores locks of the daemon's own user, and answers `yes`.
  [
    "yes, though a lock of the daemon's own user blocks it",
    { locks: [lock({ who: 'upgrade' })] },
    'inhibited',
    /"upgrade"/,
  ],
  // logind ignores a weak lock if the caller is root or the user of the lock, and answers `yes`.
  [
    'yes, though a weak lock blocks it',
    { locks: [lock({ who: 'a', mode: 'block-weak' })] },
    'inhibited',
    /"a"/,
  ],
  ['yes, though many programs block it', { locks: MANY_LOCKS }, 'inhibited', /"who4".*and 2 more$/],
  [
    'yes, though a lock with a long name blocks it',
    { locks: [LONG_LOCK] },
    'inhibited',
    /x{200}\.\.\." .*"line\\nbreak"$/,
  ],
  ['yes, then that it needs a password', { order: PASSWORD_NEEDED }, 'not-granted', /Interactive/],
  ['yes, then that it is denied', { order: DENIED }, 'not-granted', /AccessDenied/],
  ['yes, then that a shutdown is under way', { order: BUSY }, 'in-progress', /busy/],
  ['yes, then that a program has taken a lock', { order: LOCKED }, 'inhibited', /Blocked/],
  ['that systemd is shutting down', { can: SHUTTING_DOWN }, 'in-progress', /Shutting/],
  ['that polkit is not installed', { can: DENIED }, 'not-granted', /as without polkit/],
  ['yes, but gives no list of locks in time', { locks: NO_ANSWER }, 'timeout', /in time/],
  ['yes, but gives an error instead of the locks', { locks: ODD_ERROR }, 'unavailable', /org\.example\.Odd/],
  ['yes, then does not answer in time', { order: NO_ANSWER }, 'timeout', /The reboot was not accepted/],
  ['yes, and then the bus ends', { order: BUS_ENDS }, 'unavailable', /connection to the bus was lost/],
  ['yes, then with an odd error', { order: ODD_ERROR }, 'refused', /odd \(org\.example\.Odd\)$/],
];

for (const [what, script, fault, detail] of REFUSALS) {
  test(`a reboot has the fault ${fault} when logind answers ${what}: ${detail.source}`, async (t) => {
    const { backend, recorder } = await startPower(t, script);
    const answer = await backend.handle({ do: 'reboot' });
    assert.ok(!answer.ok);
    assert.equal(answer.error.fault, fault, answer.error.detail);
    assert.match(answer.error.detail, detail);
    assert.match(answer.error.detail, /^[A-Z]/);
    assert.deepEqual(publishedActions(recorder), []);
  });
}

for (const [action, method] of [['reboot', 'Reboot'] as const, ['poweroff', 'PowerOff'] as const]) {
  test(`a ${action} is ordered after logind has allowed it, and the event is sent before the answer`, async (t) => {
    // The first lock only delays a shutdown, and the second one does not concern it.
    const harmlessLocks = [lock({ mode: 'delay' }), lock({ what: 'sleep:handle-power-key' })];
    const { backend, recorder, called } = await startPower(t, { locks: harmlessLocks });

    const answer = await backend.handle({ do: action });
    // The answer is added to the published lines, so that the order of event and answer is tested.
    recorder.published.push(JSON.stringify(answer));

    assert.deepEqual(recorder.published, ['up', 'put power.action', '{"ok":true,"value":{}}']);
    assert.deepEqual(recorder.newest('power.action'), { action });
    assert.deepEqual(called(), [`Can${method}`, 'ListInhibitors', method]);
  });

  test(`a ${action} that is disabled never reaches logind`, async (t) => {
    const { backend, called } = await startPower(t, {}, { poweroff: false, reboot: false });
    assert.equal(faultOf(await backend.handle({ do: action })), 'capability-off');
    assert.deepEqual(called(), []);
  });
}

test('only the first of several simultaneous requests is carried out, and an earlier refusal does not block it', async (t) => {
  const { backend, setScript, called, recorder } = await startPower(t, { can: 'challenge' });
  assert.equal((await backend.handle({ do: 'reboot' })).ok, false);

  setScript({});
  const requests = ['reboot', 'reboot', 'poweroff'] as const;
  const answers = await Promise.all(requests.map((action) => backend.handle({ do: action })));
  assert.deepEqual(answers.map(faultOf), ['none', 'in-progress', 'in-progress']);

  const orders = called().filter((method) => /^(Reboot|PowerOff)$/.test(method));
  assert.deepEqual(orders, ['Reboot']);
  assert.equal(publishedActions(recorder).length, 1);
});

const NO_REPLY = { error: `${ERRORS}.NoReply` };
const REBOOTS = { shutdownUnit: 'reboot.target' };
const POWERS_OFF = { shutdownUnit: 'poweroff.target' };

/**
 * In each row systemd begins to start a unit while the order to power off has no answer yet. If the unit is
 * poweroff.target, this proves that logind has accepted the order, unless logind or systemd then answers with
 * an error. The error NO_REPLY does not count, because the bus sends it.
 */
const RACES: readonly (readonly [what: string, script: LogindScript, expected: FaultCode | 'none'])[] = [
  ['a reboot, and the power-off is refused', { ...REBOOTS, order: BUSY }, 'in-progress'],
  ['a reboot, and the bus ends', { ...REBOOTS, order: BUS_ENDS }, 'unavailable'],
  ['another power-off, and the new order is refused', { ...POWERS_OFF, order: BUSY }, 'in-progress'],
  ['the power-off, and the bus ends before the reply', { ...POWERS_OFF, order: BUS_ENDS }, 'none'],
  ['the power-off, and logind ends before the reply', { ...POWERS_OFF, order: NO_REPLY }, 'none'],
  ['the power-off, and no answer follows', { ...POWERS_OFF, order: NO_ANSWER }, 'none'],
  [
    'another power-off, and systemd refuses the order in place of logind',
    { ...POWERS_OFF, order: SHUTTING_DOWN },
    'in-progress',
  ],
];

for (const [what, script, expected] of RACES) {
  const outcome = expected === 'none' ? 'accepted' : expected;
  test(`the order to power off has the outcome ${outcome} when systemd begins ${what}`, async (t) => {
    const { backend, recorder } = await startPower(t, script);
    assert.equal(faultOf(await backend.handle({ do: 'poweroff' })), expected);
    assert.deepEqual(publishedActions(recorder), expected === 'none' ? ['put power.action'] : []);
  });
}

test('a reboot that systemd began before an order is no proof that logind has accepted the order', async (t) => {
  const { backend, recorder, setScript } = await startPower(t, { ...REBOOTS, order: BUSY });
  await backend.handle({ do: 'reboot' });

  // systemd starts no unit during this second order.
  setScript({ order: BUS_ENDS });
  assert.equal(recordOrFault(await backend.handle({ do: 'reboot' })), 'unavailable');
  assert.deepEqual(publishedActions(recorder), []);
});

test('the backend is connecting and unavailable when the bus ends, and up when the bus returns', async (t) => {
  const { backend, setScript, recorder } = await startPower(t, { can: BUS_ENDS });
  assert.equal(recordOrFault(await backend.handle({ do: 'status' })), 'unavailable');
  await until('the loss is noticed', () => recorder.published.some((line) => line.startsWith('connecting')));

  setScript({});
  recorder.published.length = 0;
  await until('the bus is back', () => recorder.published.includes('up'));
  assert.deepEqual(recordOrFault(await backend.handle({ do: 'status' })), { reboot: true, power_off: true });
});
