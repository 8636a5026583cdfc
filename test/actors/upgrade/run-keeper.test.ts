// Tests when a progress line begins a run, when silence ends a run, and what becomes of a saved run. A
// systemd run is a run of the upgrade unit. A socket run is a run that began with a progress line.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { NOTHING_RAN, type RunFacts } from '../../../src/actors/units/facts.js';
import type { ProgressEvent } from '../../../src/actors/upgrade/progress-line.js';
import { RunKeeper } from '../../../src/actors/upgrade/run-keeper.js';
import type { SavedRun } from '../../../src/actors/upgrade/run-store.js';
import { ManualClock } from '../../manual-clock.js';
import { settle } from '../units/scripted-manager.js';

const INVOCATION = 'a'.repeat(32);
const CIRCUMSTANCES = { boot: 'boot', manager: 'manager', unit: 'up.service' };
const BEGIN: ProgressEvent = { event: 'begin', total: 1 };
const END: ProgressEvent = { event: 'end', success: true };
const progress = (percent: number): ProgressEvent => ({ event: 'progress', percent, current: 1, step: 's' });
const AT_WORK: RunFacts = {
  ...NOTHING_RAN,
  activeState: 'activating',
  subState: 'start',
  invocation: INVOCATION,
};
const AT_REST: RunFacts = { ...NOTHING_RAN, invocation: INVOCATION };
const UNIT_FAILED: RunFacts = { ...AT_REST, activeState: 'failed', subState: 'failed', result: 'exit-code' };
const NO_RELAY = (): void => undefined;

type KeeperUnderTest = ReturnType<typeof createKeeper>;

function createKeeper(t: TestContext, savedBefore?: SavedRun) {
  /** Questions to systemd that have no answer yet. */
  const openQuestions: ((facts: RunFacts | undefined) => void)[] = [];
  const saved: SavedRun[] = [];
  const clock = new ManualClock();
  const owner = {
    changed: () => undefined,
    save: (run: SavedRun) => saved.push(run),
    readUnit: () => new Promise<RunFacts | undefined>((resolve) => openQuestions.push(resolve)),
  };
  const keeper = new RunKeeper(CIRCUMSTANCES, owner, clock);
  keeper.recall(savedBefore);
  t.after(() => keeper.stop());
  /** Answers the oldest open question with these facts. */
  const answer = async (facts: RunFacts | undefined) => {
    await settle();
    openQuestions.shift()?.(facts);
    await settle();
  };
  return { keeper, saved, clock, answer };
}

/** State, origin and percentage of the run. A hyphen stands for what the run does not have. */
const stateOf = ({ keeper: { run } }: KeeperUnderTest) =>
  `${run.state} ${run.origin ?? '-'} ${run.percent ?? '-'}`;

/** The facts of the unit, by their names in the stories. `unknown` means that systemd does not answer. */
const FACTS: Readonly<Record<string, RunFacts | undefined>> = {
  'never ran': NOTHING_RAN,
  works: AT_WORK,
  rests: AT_REST,
  failed: UNIT_FAILED,
  waits: { ...UNIT_FAILED, activeState: 'activating', subState: 'auto-restart' },
  unknown: undefined,
};
const LINES: Readonly<Record<string, ProgressEvent>> = { begin: BEGIN, end: END };

/**
 * The steps of a story, by their first word. The other words of a step are its argument: `pass 1000` lets
 * 1000 ms pass. `signal` brings facts by a signal. `answer` answers the keeper's oldest question. `read` is a
 * reading on a new connection to systemd. `connected` sets the number of connections to the progress socket.
 * The last three steps check the keeper, and all others act on it.
 */
const STEPS: Readonly<Record<string, (tested: KeeperUnderTest, argument: string) => unknown>> = {
  line: (tested, argument) => {
    const event = LINES[argument] ?? progress(Number(argument));
    const connectedMs = tested.clock.monotonic();
    void tested.keeper.applyLine(event, connectedMs, NO_RELAY);
    return settle();
  },
  signal: (tested, argument) =>
    tested.keeper.applyInput({ kind: 'facts', facts: FACTS[argument] ?? assert.fail(argument) }),
  answer: (tested, argument) => tested.answer(FACTS[argument]),
  read: (tested, argument) =>
    tested.keeper.applyReading(FACTS[argument] ?? assert.fail(argument), CIRCUMSTANCES),
  connected: (tested, argument) => tested.keeper.setConnections(Number(argument)),
  pass: (tested, argument) => tested.clock.advance(Number(argument)),
  is: (tested, argument) => assert.equal(stateOf(tested), argument),
  saved: (tested, argument) => assert.equal(tested.saved.map(({ record }) => record.state).join(), argument),
  timers: (tested, argument) => assert.equal(tested.clock.timers, Number(argument)),
};

/** `QUIET_MS` of run.ts. */
const QUIET_MS = 10 * 60 * 1000;
/** `CONFIRM_AGAIN_MS` of run-keeper.ts. */
const CONFIRM_AGAIN_MS = 1000;
const SOCKET_RUN_BEGINS = 'connected 1; line begin; answer never ran';
const STORIES: readonly (readonly [what: string, story: string])[] = [
  [
    'lines wait until systemd has answered whether the unit is at work',
    'line begin; line 5; is idle - -; answer never ran; is running socket 5',
  ],
  [
    "a line that comes before the signal of the unit's start counts for the systemd run",
    'line 5; answer works; is running systemd 5',
  ],
  [
    'a run that begins and ends before systemd answers is not lost',
    'line begin; line 1; line 2; line end; answer never ran; is idle socket -; saved running,idle',
  ],
  [
    'if systemd does not answer, a line begins a socket run; a systemd run replaces it when the unit is found at work',
    'line 5; answer unknown; is running socket 5; read works; is running systemd -',
  ],
  [
    'a failure that cannot be confirmed at once is confirmed later',
    `signal works; signal failed; answer unknown; is running systemd -; pass ${CONFIRM_AGAIN_MS}; answer failed; is failed systemd -; timers 0`,
  ],
  [
    'a socket run ends after ten minutes of silence, which begins when the last connection ends',
    `${SOCKET_RUN_BEGINS}; connected 0; pass ${QUIET_MS - 1}; connected 1; line 2; connected 0; pass ${QUIET_MS - 1}; ` +
      'is running socket 2; pass 1; is failed socket -; timers 0',
  ],
  [
    'a socket run does not end while a script is connected, even if no line comes',
    `${SOCKET_RUN_BEGINS}; pass ${10 * QUIET_MS}; is running socket -; connected 0; pass ${QUIET_MS}; is failed socket -`,
  ],
];

for (const [what, story] of STORIES) {
  test(what, async (t) => {
    const tested = createKeeper(t);
    for (const step of story.split('; ')) {
      const [word = '', ...argument] = step.split(' ');
      const carryOut = STEPS[word] ?? assert.fail(`no such step: ${step}`);
      await carryOut(tested, argument.join(' '));
    }
  });
}

test('after the end of a systemd run, a line begins a run only if it comes at least a second later, by a newer connection', async (t) => {
  const { keeper, clock, answer } = createKeeper(t);
  const connectedBeforeEndMs = clock.monotonic();
  clock.advance(1);
  keeper.applyInput({ kind: 'facts', facts: AT_WORK });
  keeper.applyInput({ kind: 'facts', facts: AT_REST });
  const connectedAfterEndMs = clock.monotonic();

  // The connection is new enough, but the line comes too early.
  clock.advance(999);
  await keeper.applyLine(progress(5), connectedAfterEndMs, NO_RELAY);
  // The line comes late enough, but its connection is too old.
  clock.advance(60_000);
  await keeper.applyLine(progress(5), connectedBeforeEndMs, NO_RELAY);
  assert.equal(keeper.run.state, 'idle');

  void keeper.applyLine(progress(6), connectedAfterEndMs, NO_RELAY);
  await answer(AT_REST);
  assert.equal(keeper.run.state, 'running');
});

const SOCKET_RUN = { state: 'running', origin: 'socket', startedMs: 5_000 } as const;

test('a socket run continues after a restart of the daemon, but not after a reboot', (t) => {
  const restarted = createKeeper(t, { record: SOCKET_RUN, circumstances: CIRCUMSTANCES });
  assert.equal(stateOf(restarted), 'running socket -');
  const rebooted = createKeeper(t, {
    record: SOCKET_RUN,
    circumstances: { ...CIRCUMSTANCES, boot: 'before' },
  });
  assert.equal(stateOf(rebooted), 'failed socket -');
});

test('after a restart of the daemon, the result of a systemd run is known only if boot, manager and unit are still the same', (t) => {
  const record = { state: 'running', origin: 'systemd', startedMs: 5_000, invocation: INVOCATION } as const;
  // A run whose result is not known counts as failed.
  for (const [differences, expected] of [
    [{}, 'idle systemd -'],
    [{ boot: 'before' }, 'failed systemd -'],
    [{ manager: 'before' }, 'failed systemd -'],
    [{ unit: 'other.service' }, 'failed systemd -'],
  ] as const) {
    const tested = createKeeper(t, { record, circumstances: { ...CIRCUMSTANCES, ...differences } });
    tested.keeper.applyReading(AT_REST, CIRCUMSTANCES);
    assert.equal(stateOf(tested), expected);
    assert.deepEqual(tested.saved.at(-1)?.circumstances, CIRCUMSTANCES);
  }
});
