// The power backend over a real socket to a scripted logind: each answer of logind and what becomes of it.

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { PowerBackend } from '../../../src/actors/power/backend.js';
import type { Publisher } from '../../../src/actors/runtime.js';
import type { Answer, PowerCommand } from '../../../src/protocol/actor/commands.js';
import type { FaultCode } from '../../../src/protocol/actor/faults.js';
import { type LogindScript, methodsCalled, scriptedLogind } from './logind-script.js';

const BOTH = { poweroff: true, reboot: true };
const SILENT = /"silent":true/;
const ERRORS = 'org.freedesktop.DBus.Error';

interface Bench {
  readonly backend: PowerBackend;
  readonly said: string[];
  /** Changes what logind says from now on. */
  readonly become: (script: LogindScript) => void;
  readonly called: () => readonly string[];
  readonly until: (pattern: RegExp) => Promise<void>;
}

async function bench(t: TestContext, first: LogindScript = {}, capabilities = BOTH): Promise<Bench> {
  let script = first;
  const bus = await scriptedLogind(() => script);
  const said: string[] = [];
  const news = new EventEmitter();
  const say = (line: string): void => {
    said.push(line);
    news.emit('line');
  };
  const publish: Publisher = {
    put: () => undefined,
    drop: () => undefined,
    event: (type, json) => say(`${type} ${json}`),
    status: (state) => say(state),
    log: () => undefined,
  };
  const paths = () => ({ ok: true, paths: [bus.path] }) as const;
  const backend = new PowerBackend({ enabled: true, capabilities }, publish, {
    paths,
    // Short only where nothing is meant to come.
    callDeadlineMs: SILENT.test(JSON.stringify(first)) ? 50 : 10_000,
    backoffMs: (attempt) => (attempt === 0 ? 0 : 20),
  });
  t.after(async () => {
    await backend.stop();
    await bus.close();
  });
  const until = async (pattern: RegExp): Promise<void> => {
    while (!said.some((line) => pattern.test(line))) await once(news, 'line');
  };
  await until(/^up$/);
  const become = (next: LogindScript): void => {
    script = next;
  };
  return { backend, said, become, called: () => methodsCalled(bus), until };
}

const record = (answer: Answer): unknown => (answer.ok ? JSON.parse(answer.text ?? 'null') : answer.fault);

const STATUS: readonly (readonly [
  what: string,
  script: LogindScript,
  given: typeof BOTH,
  expected: unknown,
])[] = [
  ['yes', {}, BOTH, { reboot: true, power_off: true }],
  ['no', { can: 'no' }, BOTH, { reboot: false, power_off: false }],
  ['challenge', { can: 'challenge' }, BOTH, { reboot: false, power_off: false }],
  ['na', { can: 'na' }, BOTH, { reboot: false, power_off: false }],
  ['yes, but only reboot is on', {}, { poweroff: false, reboot: true }, { reboot: true, power_off: false }],
  [
    'yes, but only power-off is on',
    {},
    { poweroff: true, reboot: false },
    { reboot: false, power_off: true },
  ],
  ['yes, but nothing is on', {}, { poweroff: false, reboot: false }, { reboot: false, power_off: false }],
  ['that polkit is masked', { can: { error: 'org.freedesktop.systemd1.UnitMasked' } }, BOTH, 'unavailable'],
  ['that polkit is not installed', { can: { error: `${ERRORS}.AccessDenied` } }, BOTH, 'unavailable'],
  ['that logind is away', { can: { error: `${ERRORS}.ServiceUnknown` } }, BOTH, 'unavailable'],
  ['nothing, and the bus ends', { can: { gone: true } }, BOTH, 'unavailable'],
  ['nothing in time', { can: { silent: true } }, BOTH, 'timeout'],
  ['an error nobody knows', { can: { error: 'org.example.Odd', text: 'odd' } }, BOTH, 'unavailable'],
];

for (const [what, script, given, expected] of STATUS) {
  test(`the status when logind says ${what}`, async (t) => {
    const { backend } = await bench(t, script, given);
    assert.deepEqual(record(await backend.handle({ do: 'status' })), expected);
  });
}

type Refusal = readonly [what: string, script: LogindScript, fault: FaultCode, detail: RegExp];

const REFUSALS: readonly Refusal[] = [
  ['challenge', { can: 'challenge' }, 'not-granted', /org\.freedesktop\.login1\.reboot,/],
  ['challenge', { can: 'challenge' }, 'not-granted', /org\.freedesktop\.login1\.reboot-multiple-sessions/],
  ['no', { can: 'no' }, 'not-granted', /"no"/],
  ['na', { can: 'na' }, 'not-granted', /this machine cannot/],
  [
    'that somebody blocks it',
    { can: 'challenge', locks: [['sleep:shutdown', 'apt', 'half-way', 'block']] },
    'inhibited',
    /"apt" \(process 42\): "half-way"/,
  ],
  [
    'yes, though the own user blocks it',
    { locks: [['shutdown', 'upgrade', 'flashing', 'block']] },
    'inhibited',
    /"upgrade"/,
  ],
  ['that a weak lock blocks it', { locks: [['shutdown', 'a', 'b', 'block-weak']] }, 'inhibited', /"a"/],
  [
    'that many block it',
    { locks: Array.from({ length: 7 }, (_, i) => ['shutdown', `who${i}`, 'w', 'block'] as const) },
    'inhibited',
    /"who4".*and 2 more$/,
  ],
  [
    'that somebody with a long tale blocks it',
    { locks: [['shutdown', 'x'.repeat(5000), 'line\nbreak', 'block']] },
    'inhibited',
    /x{200}\.\.\." .*"line\\nbreak"$/,
  ],
  [
    'yes, then that it needs a password',
    { order: { error: `${ERRORS}.InteractiveAuthorizationRequired` } },
    'not-granted',
    /Interactive/,
  ],
  ['yes, then denies it', { order: { error: `${ERRORS}.AccessDenied` } }, 'not-granted', /AccessDenied/],
  [
    'yes, then that it is going down',
    { order: { error: 'org.freedesktop.login1.OperationInProgress', text: 'busy' } },
    'in-progress',
    /busy/,
  ],
  [
    'yes, then that a lock came',
    { order: { error: 'org.freedesktop.login1.BlockedByInhibitorLock' } },
    'inhibited',
    /Blocked/,
  ],
  [
    'that systemd is shutting down',
    { can: { error: 'org.freedesktop.systemd1.ShuttingDown' } },
    'in-progress',
    /Shutting/,
  ],
  ['that polkit is away', { can: { error: `${ERRORS}.AccessDenied` } }, 'unavailable', /could not be asked/],
  ['no locks in time', { locks: { silent: true } }, 'timeout', /in time/],
  ['no locks at all', { locks: { error: 'org.example.Odd' } }, 'unavailable', /org\.example\.Odd/],
  ['yes, then nothing in time', { order: { silent: true } }, 'timeout', /The reboot was not accepted/],
  ['yes, then the bus ends', { order: { gone: true } }, 'unavailable', /connection to the bus was lost/],
  [
    'yes, then an odd error',
    { order: { error: 'org.example.Odd', text: 'odd' } },
    'refused',
    /odd \(org\.example\.Odd\)$/,
  ],
];

for (const [what, script, fault, detail] of REFUSALS) {
  test(`a reboot when logind says ${what} is ${fault}: ${detail.source}`, async (t) => {
    const { backend, said } = await bench(t, script);
    const answer = await backend.handle({ do: 'reboot' });
    assert.ok(!answer.ok);
    assert.equal(answer.fault, fault, answer.detail);
    assert.match(answer.detail, detail);
    assert.match(answer.detail, /^[A-Z]/);
    assert.deepEqual(
      said.filter((line) => line.startsWith('power.action')),
      [],
    );
  });
}

const ACCEPTED: readonly (readonly [PowerCommand['do'], calls: readonly string[], event: string])[] = [
  ['reboot', ['CanReboot', 'ListInhibitors', 'Reboot'], 'power.action {"action":"reboot"}'],
  ['poweroff', ['CanPowerOff', 'ListInhibitors', 'PowerOff'], 'power.action {"action":"poweroff"}'],
];

for (const [action, calls, event] of ACCEPTED) {
  test(`${action}: logind is asked, then told, and the event is said before the answer`, async (t) => {
    const { backend, said, called } = await bench(t, { locks: [['shutdown', 'a', 'b', 'delay']] });
    const answer = backend.handle({ do: action }).then((given) => said.push(JSON.stringify(given)));
    await answer;
    assert.deepEqual(said, ['up', event, '{"ok":true}']);
    assert.deepEqual(called(), calls);
  });

  test(`${action} that is switched off asks nobody`, async (t) => {
    const { backend, called } = await bench(t, {}, { poweroff: false, reboot: false });
    const answer = await backend.handle({ do: action });
    assert.equal(answer.ok ? 'ok' : answer.fault, 'capability-off');
    assert.deepEqual(called(), []);
  });
}

test('of two at once one acts, whatever the other wants; a refused one blocks nobody', async (t) => {
  const { backend, become, called, said } = await bench(t, { can: 'challenge' });
  assert.equal((await backend.handle({ do: 'reboot' })).ok, false);
  become({});
  const answers = await Promise.all([
    backend.handle({ do: 'reboot' }),
    backend.handle({ do: 'reboot' }),
    backend.handle({ do: 'poweroff' }),
  ]);
  assert.deepEqual(
    answers.map((answer) => (answer.ok ? 'ok' : answer.fault)),
    ['ok', 'in-progress', 'in-progress'],
  );
  assert.deepEqual(
    called().filter((method) => /^(Reboot|PowerOff)$/.test(method)),
    ['Reboot'],
  );
  assert.equal(said.filter((line) => line.startsWith('power.action')).length, 1);
});

const IN_PROGRESS = { error: 'org.freedesktop.login1.OperationInProgress' };
const NO_REPLY = { error: `${ERRORS}.NoReply` };
const ACTIVATION = { error: 'org.freedesktop.systemd1.ShuttingDown' };

/** systemd begins with something before the order is answered, or instead. */
const RACES: readonly (readonly [what: string, script: LogindScript, expected: FaultCode | 'ok'])[] = [
  ['a reboot, and the power-off is refused', { begins: 'reboot.target', order: IN_PROGRESS }, 'in-progress'],
  ['a reboot, and the bus ends', { begins: 'reboot.target', order: { gone: true } }, 'unavailable'],
  [
    'another power-off, and this one is refused',
    { begins: 'poweroff.target', order: IN_PROGRESS },
    'in-progress',
  ],
  [
    'the power-off, and the bus ends before the reply',
    { begins: 'poweroff.target', order: { gone: true } },
    'ok',
  ],
  ['the power-off, and logind ends before the reply', { begins: 'poweroff.target', order: NO_REPLY }, 'ok'],
  ['the power-off, and nobody says more', { begins: 'poweroff.target', order: { silent: true } }, 'ok'],
  [
    'a power-off, but logind never got the order',
    { begins: 'poweroff.target', order: ACTIVATION },
    'in-progress',
  ],
];

for (const [what, script, expected] of RACES) {
  test(`systemd begins ${what}: ${expected}`, async (t) => {
    const { backend, said } = await bench(t, script);
    const answer = await backend.handle({ do: 'poweroff' });
    assert.equal(answer.ok ? 'ok' : answer.fault, expected);
    assert.deepEqual(
      said.filter((line) => line.startsWith('power.action')),
      expected === 'ok' ? ['power.action {"action":"poweroff"}'] : [],
    );
  });
}

test('what systemd began before the order is nothing to go by', async (t) => {
  const { backend, said, become } = await bench(t, { begins: 'reboot.target', order: IN_PROGRESS });
  await backend.handle({ do: 'reboot' });
  become({ order: { gone: true } });
  assert.equal(record(await backend.handle({ do: 'reboot' })), 'unavailable');
  assert.deepEqual(
    said.filter((line) => line.startsWith('power.action')),
    [],
  );
});

test('a verdict is asked for each time', async (t) => {
  const { backend, become } = await bench(t);
  assert.deepEqual(record(await backend.handle({ do: 'status' })), { reboot: true, power_off: true });
  become({ can: 'challenge' });
  assert.deepEqual(record(await backend.handle({ do: 'status' })), { reboot: false, power_off: false });
});

test('the bus goes and comes: connecting, unavailable, up', async (t) => {
  const { backend, become, said, until } = await bench(t, { can: { gone: true } });
  assert.equal(record(await backend.handle({ do: 'status' })), 'unavailable');
  await until(/^connecting$/);
  become({});
  said.length = 0;
  await until(/^up$/);
  assert.deepEqual(record(await backend.handle({ do: 'status' })), { reboot: true, power_off: true });
});

test('before the bus is there every question is unavailable', async (t) => {
  const publish: Publisher = {
    put: () => undefined,
    drop: () => undefined,
    event: () => undefined,
    status: () => undefined,
    log: () => undefined,
  };
  const nowhere = { paths: () => ({ ok: true, paths: ['/nowhere/bus'] }) as const, backoffMs: () => 20 };
  const backend = new PowerBackend({ enabled: true, capabilities: BOTH }, publish, nowhere);
  t.after(() => backend.stop());
  for (const command of ['status', 'reboot', 'poweroff'] as const) {
    assert.equal(record(await backend.handle({ do: command })), 'unavailable');
  }
});
