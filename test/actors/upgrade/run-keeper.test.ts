// When a run begins with a line of progress, when silence ends it, and what is saved of it.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { NOTHING_RAN, type RunFacts } from '../../../src/actors/units/facts.js';
import type { ProgressEvent } from '../../../src/actors/upgrade/progress-line.js';
import { RunKeeper } from '../../../src/actors/upgrade/run-keeper.js';
import type { SavedRun } from '../../../src/actors/upgrade/run-store.js';
import { ManualClock } from '../../manual-clock.js';
import { settle } from '../units/scripted-manager.js';

const A = 'a'.repeat(32);
const HERE = { boot: 'boot', manager: 'manager', unit: 'up.service' };
const BEGIN: ProgressEvent = { event: 'begin', total: 1 };
const END: ProgressEvent = { event: 'end', success: true };
const progress = (percent: number): ProgressEvent => ({ event: 'progress', percent, current: 1, step: 's' });
const AT_WORK: RunFacts = { ...NOTHING_RAN, activeState: 'activating', subState: 'start', invocation: A };
const AT_REST: RunFacts = { ...NOTHING_RAN, invocation: A };
const BROKEN: RunFacts = { ...AT_REST, activeState: 'failed', subState: 'failed', result: 'exit-code' };

type Stage = ReturnType<typeof stage>;

function stage(t: TestContext, saved?: SavedRun) {
  const waiting: ((facts: RunFacts | undefined) => void)[] = [];
  const all: SavedRun[] = [];
  const clock = new ManualClock();
  const owner = {
    changed: () => undefined,
    save: (next: SavedRun) => all.push(next),
    readUnit: () => new Promise<RunFacts | undefined>((resolve) => waiting.push(resolve)),
  };
  const keeper = new RunKeeper(HERE, owner, clock);
  keeper.recall(saved);
  t.after(() => keeper.stop());
  /** Answers the oldest open question to systemd with these facts. */
  const answer = async (facts: RunFacts | undefined) => {
    await settle();
    waiting.shift()?.(facts);
    await settle();
  };
  return { keeper, saved: all, clock, answer };
}

const state = ({ keeper: { run } }: Stage) => `${run.state} ${run.origin ?? '-'} ${run.percent ?? '-'}`;

/** The facts of the unit by short names. */
const FACTS: Readonly<Record<string, RunFacts | undefined>> = {
  'never ran': NOTHING_RAN,
  works: AT_WORK,
  rests: AT_REST,
  failed: BROKEN,
  waits: { ...BROKEN, activeState: 'activating', subState: 'auto-restart' },
  unknown: undefined,
};
const LINES: Readonly<Record<string, ProgressEvent>> = { begin: BEGIN, end: END };

/** The words of a story: the first ones act on the keeper, the last three check it. */
const STEPS: Readonly<Record<string, (on: Stage, argument: string) => unknown>> = {
  line: (on, argument) => {
    void on.keeper.applyLine(LINES[argument] ?? progress(Number(argument)), on.clock.monotonic());
    return settle();
  },
  signal: (on, argument) =>
    on.keeper.applyInput({ kind: 'unit', facts: FACTS[argument] ?? assert.fail(argument) }),
  answer: (on, argument) => on.answer(FACTS[argument]),
  read: (on, argument) => on.keeper.applyReading(FACTS[argument] ?? assert.fail(argument), HERE),
  connected: (on, argument) => on.keeper.setConnections(Number(argument)),
  pass: (on, argument) => on.clock.advance(Number(argument)),
  is: (on, argument) => assert.equal(state(on), argument),
  saved: (on, argument) => assert.equal(on.saved.map(({ record }) => record.state).join(), argument),
  timers: (on, argument) => assert.equal(on.clock.timers, Number(argument)),
};

const QUIET_MS = 10 * 60 * 1000;
const SOCKET_RUN_BEGINS = 'connected 1; line begin; answer never ran';
const STORIES: readonly (readonly [what: string, story: string])[] = [
  [
    'lines wait until systemd has reported that the unit rests',
    'line begin; line 5; is idle - -; answer never ran; is running socket 5',
  ],
  ["the unit's script may be quicker than its signal", 'line 5; answer works; is running systemd 5'],
  [
    'a whole run while systemd is being asked is not lost',
    'line begin; line 1; line 2; line end; answer never ran; is idle socket -; saved running,idle',
  ],
  [
    'without the bus a line begins a run, and the answer of systemd decides later what it is',
    'line 5; answer unknown; is running socket 5; read works; is running systemd -',
  ],
  [
    'a failure that cannot be confirmed now is confirmed later',
    'signal works; signal failed; answer unknown; is running systemd -; pass 1000; answer failed; is failed systemd -; timers 0',
  ],
  [
    'silence ends a run of the socket, counted from the last connection',
    `${SOCKET_RUN_BEGINS}; connected 0; pass ${QUIET_MS - 1}; connected 1; line 2; connected 0; pass ${QUIET_MS - 1}; ` +
      'is running socket 2; pass 1; is failed socket -; timers 0',
  ],
  [
    'while a script is connected, silence does not end its run',
    `${SOCKET_RUN_BEGINS}; pass ${10 * QUIET_MS}; is running socket -; connected 0; pass ${QUIET_MS}; is failed socket -`,
  ],
];

for (const [what, story] of STORIES) {
  test(what, async (t) => {
    const on = stage(t);
    for (const step of story.split('; ')) {
      const [word = '', ...argument] = step.split(' ');
      await (STEPS[word] ?? assert.fail(`no such step: ${step}`))(on, argument.join(' '));
    }
  });
}

test('a line of a connection of a finished systemd run begins no run, nor does one right after this run', async (t) => {
  const { keeper, clock, ...on } = stage(t);
  const now = () => clock.monotonic();
  const sinceMs = now();
  clock.advance(1);
  keeper.applyInput({ kind: 'unit', facts: AT_WORK });
  keeper.applyInput({ kind: 'unit', facts: AT_REST });
  const byHandMs = now();
  clock.advance(999);
  await keeper.applyLine(progress(5), byHandMs);
  clock.advance(60_000);
  await keeper.applyLine(progress(5), sinceMs);
  assert.equal(keeper.run.state, 'idle');
  void keeper.applyLine(progress(6), byHandMs);
  await on.answer(AT_REST);
  assert.equal(keeper.run.state, 'running');
});

const SOCKET_RUN = { state: 'running', origin: 'socket', startedMs: 5_000 } as const;

test('a run of the socket continues over a restart of the daemon, but not over a reboot', (t) => {
  assert.equal(state(stage(t, { record: SOCKET_RUN, circumstances: HERE })), 'running socket -');
  const after = stage(t, { record: SOCKET_RUN, circumstances: { ...HERE, boot: 'before' } });
  assert.equal(state(after), 'failed socket -');
});

test('the result of a systemd run depends on the invocation that it began with', (t) => {
  const record = { state: 'running', origin: 'systemd', startedMs: 5_000, invocation: A } as const;
  for (const [other, expected] of [
    [{}, 'idle systemd -'],
    [{ boot: 'before' }, 'failed systemd -'],
    [{ manager: 'before' }, 'failed systemd -'],
    [{ unit: 'other.service' }, 'failed systemd -'],
  ] as const) {
    const on = stage(t, { record, circumstances: { ...HERE, ...other } });
    on.keeper.applyReading(AT_REST, HERE);
    assert.equal(state(on), expected);
    assert.deepEqual(on.saved.at(-1)?.circumstances, HERE);
  }
});
