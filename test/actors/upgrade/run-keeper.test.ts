// The keeper around the state machine: lines that begin runs, silence that ends one, and the saved state.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { NOTHING_RAN, type RunFacts } from '../../../src/actors/units/facts.js';
import type { ProgressEvent } from '../../../src/actors/upgrade/progress-line.js';
import type { RunInput } from '../../../src/actors/upgrade/run.js';
import { RunKeeper } from '../../../src/actors/upgrade/run-keeper.js';
import { parseSaved, type SavedRun, savedText } from '../../../src/actors/upgrade/run-store.js';
import { ManualClock } from '../../manual-clock.js';

const A = 'a'.repeat(32);
const HERE = { boot: 'boot', manager: 'manager', unit: 'up.service' };
const BEGIN: ProgressEvent = { event: 'begin', total: 1 };
const END: ProgressEvent = { event: 'end', success: true };
const progress = (percent: number): ProgressEvent => ({ event: 'progress', percent, current: 1, step: 's' });
const AT_WORK: RunFacts = { ...NOTHING_RAN, activeState: 'activating', subState: 'start', invocation: A };
const AT_REST: RunFacts = { ...NOTHING_RAN, invocation: A };
const BROKEN: RunFacts = { ...AT_REST, activeState: 'failed', subState: 'failed', result: 'exit-code' };

interface Stage {
  readonly keeper: RunKeeper;
  readonly saved: SavedRun[];
  readonly clock: ManualClock;
  /** Monotonic ms. */
  readonly now: number;
  /** Answers the oldest open question to systemd with these facts. */
  answer(facts: RunFacts | undefined): Promise<void>;
}

function stage(t: TestContext, saved?: SavedRun): Stage {
  const waiting: ((facts: RunFacts | undefined) => void)[] = [];
  const all: SavedRun[] = [];
  const clock = new ManualClock();
  const keeper = new RunKeeper(
    saved,
    HERE,
    {
      changed: () => undefined,
      save: (next) => all.push(next),
      askUnit: () => new Promise((resolve) => waiting.push(resolve)),
    },
    clock,
  );
  t.after(() => keeper.stop());
  const answer = async (facts: RunFacts | undefined) => {
    waiting.shift()?.(facts);
    await Promise.resolve();
    await Promise.resolve();
  };
  return {
    keeper,
    saved: all,
    clock,
    get now() {
      return clock.monotonic();
    },
    answer,
  };
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

/** A line, a signal or an answer of systemd, a reading at a new connection, time that passes, and the expected run. */
const STEPS: Readonly<Record<string, (on: Stage, said: string) => unknown>> = {
  line: (on, said) => on.keeper.line(LINES[said] ?? progress(Number(said)), on.now),
  signal: (on, said) => on.keeper.feed({ kind: 'unit', facts: FACTS[said] ?? assert.fail(said) }),
  answer: (on, said) => on.answer(FACTS[said]),
  read: (on, said) => on.keeper.read(FACTS[said] ?? assert.fail(said), HERE),
  connected: (on, said) => on.keeper.connections(Number(said)),
  pass: (on, said) => on.clock.advance(Number(said)),
  is: (on, said) => assert.equal(state(on), said),
  saved: (on, said) => assert.equal(on.saved.map(({ record }) => record.state).join(), said),
  timers: (on, said) => assert.equal(on.clock.timers, Number(said)),
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
  ['lines wait for the bus', 'line 5; answer unknown; is idle - -; read works; is running systemd 5'],
  [
    'a failure is one when systemd, asked, does not say that it will start the unit again',
    'signal works; signal failed; is running systemd -; answer waits; is running systemd -; ' +
      'signal failed; answer failed; is failed systemd -; saved running,failed',
  ],
  [
    'a failure that cannot be confirmed now is confirmed later',
    'signal works; signal failed; answer unknown; is running systemd -; pass 1000; answer failed; is failed systemd -; timers 0',
  ],
  [
    'silence ends a run of the socket, counted from the last line',
    `${SOCKET_RUN_BEGINS}; connected 0; pass ${QUIET_MS - 1}; line 2; pass ${QUIET_MS - 1}; is running socket 2; ` +
      'pass 1; is failed socket -; timers 0',
  ],
  [
    'while somebody is connected, silence is no end',
    `${SOCKET_RUN_BEGINS}; pass ${10 * QUIET_MS}; is running socket -; connected 0; pass 0; is failed socket -`,
  ],
  [
    'a connection without lines keeps no run alive',
    `${SOCKET_RUN_BEGINS}; connected 0; pass ${QUIET_MS - 1}; connected 1; connected 0; pass 1; is failed socket -`,
  ],
  [
    'transitions are saved, progress is not',
    'signal works; line 1; line 2; line 3; is running systemd 3; signal rests; saved running,idle',
  ],
];

for (const [what, story] of STORIES) {
  test(what, async (t) => {
    const on = stage(t);
    for (const step of story.split('; ')) {
      const [word = '', ...said] = step.split(' ');
      await (STEPS[word] ?? assert.fail(`no such step: ${step}`))(on, said.join(' '));
    }
  });
}

test('when too many lines wait, the first and the last are kept', async (t) => {
  const on = stage(t);
  on.keeper.line(BEGIN, on.now);
  await on.answer(undefined);
  // Each one comes on its own connection.
  for (let n = 1; n <= 80; n++) {
    on.clock.advance(1);
    on.keeper.line(progress(n), on.now);
  }
  on.keeper.read(NOTHING_RAN, HERE);
  assert.equal(state(on), 'running socket 80');
  assert.equal(on.saved.length, 1);
});

test('a whole run of many lines while the bus is away ends', async (t) => {
  const on = stage(t);
  for (const content of [BEGIN, ...Array.from({ length: 80 }, (_, n) => progress(n)), END]) {
    on.clock.advance(1);
    on.keeper.line(content, on.now);
  }
  await on.answer(undefined);
  on.keeper.read(NOTHING_RAN, HERE);
  assert.equal(state(on), 'idle socket -');
  assert.equal(on.saved.length, 2);
});

test('a connection of a finished systemd run begins nothing, nor does a line right behind it', async (t) => {
  const on = stage(t);
  const sinceMs = on.now;
  on.clock.advance(1);
  on.keeper.feed({ kind: 'unit', facts: AT_WORK });
  on.keeper.feed({ kind: 'unit', facts: AT_REST });
  assert.equal(state(on), 'idle systemd -');
  const byHandMs = on.now;
  on.clock.advance(999);
  on.keeper.line(progress(5), byHandMs);
  await on.answer(NOTHING_RAN);
  assert.equal(state(on), 'idle systemd -');
  on.clock.advance(60_000);
  on.keeper.line(progress(5), sinceMs);
  await on.answer(NOTHING_RAN);
  assert.equal(state(on), 'idle systemd -');
  on.keeper.line(progress(6), byHandMs);
  await on.answer(AT_REST);
  assert.equal(state(on), 'running socket 6');
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
    on.keeper.read(AT_REST, HERE);
    assert.equal(state(on), expected);
    assert.deepEqual(on.saved.at(-1)?.circumstances, HERE);
  }
});

test("a restarted daemon knows the run's own job from the state file", async (t) => {
  const beginnings: readonly RunInput[] = [
    { kind: 'accepted', sinceCount: 0, before: '', job: '/job/1' },
    { kind: 'unit', facts: { ...AT_WORK, job: '/job/1' } },
  ];
  for (const beginning of beginnings) {
    for (const [job, result, expected] of [
      ['/job/1', 'timeout', 'failed systemd -'],
      ['/job/1', 'done', 'idle systemd -'],
      ['/job/2', 'failed', 'idle systemd -'],
    ] as const) {
      const before = stage(t);
      before.keeper.feed(beginning);
      before.keeper.feed({ kind: 'unit', facts: { ...AT_WORK, job: '/job/1' } });
      const last = before.saved.at(-1);
      const on = stage(t, last && parseSaved(savedText(last)));
      on.keeper.read({ ...AT_WORK, job }, HERE);
      on.keeper.feed({ kind: 'job-ended', job, result });
      on.keeper.feed({ kind: 'unit', facts: AT_REST });
      await on.answer(AT_REST);
      assert.equal(state(on), expected, `${beginning.kind}: ${job} ${result}`);
    }
  }
});
