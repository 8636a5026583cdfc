// Tests when a run begins and ends, and whether it has succeeded (docs/upgrades.md, "Runs"). In some
// rows, systemd's signals and replies come in an unusual order.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NOTHING_RAN, type RunFacts } from '../../../src/actors/units/facts.js';
import {
  initialRun,
  nextRun,
  publishedRun,
  type Run,
  type RunInput,
} from '../../../src/actors/upgrade/run.js';

/** Two invocations of the upgrade unit. */
const A = 'a'.repeat(32);
const B = 'b'.repeat(32);
/** 1970-01-01T00:16:40Z. */
const NOW_MS = 1_000_000;

const INVOCATIONS: Readonly<Record<string, string>> = { A, B, '-': '' };
/** Facts of the unit, by the word that stands for them in a story (`follow`). */
const FACTS_BY_WORD: Readonly<Record<string, Partial<RunFacts>>> = {
  job1: { job: '/job/1' },
  job2: { job: '/job/2' },
  bad: { result: 'exit-code' },
  exited: { subState: 'exited' },
  running: { subState: 'running' },
  waits: { subState: 'auto-restart' },
  again: { restarts: 1 },
  reset: { wasReset: true },
  'at-7-s': { startedMs: 7_000 },
};

/** Returns the unit's facts. `text` has state, invocation (`-` for none), and keys of `FACTS_BY_WORD`. */
function factsOf(text: string): RunFacts {
  const [activeState = '', invocationName = '', ...words] = text.split(' ');
  const facts = words.map((word) => FACTS_BY_WORD[word] ?? assert.fail(`no such word: ${word}`));
  const invocation = INVOCATIONS[invocationName] ?? assert.fail(`no such invocation: ${text}`);
  return Object.assign({ ...NOTHING_RAN, activeState, subState: activeState, invocation }, ...facts);
}

/** systemd has accepted a call of StartUnit. `begunBefore` is 0, because no run had begun before the call. */
const accepted = { kind: 'accepted', begunBefore: 0, invocationBefore: '', job: '/job/1' } as const;
const begin = { kind: 'line', content: { event: 'begin', total: 1 }, isLeftover: false } as const;
const end = { kind: 'line', isLeftover: false } as const;
const progress: RunInput & { readonly kind: 'line' } = {
  kind: 'line',
  content: { event: 'progress', percent: 40, current: 1, step: 'unpack' },
  isLeftover: false,
};

/**
 * Inputs by name. `after B`: B was the last invocation of the unit before the start. `after its end`: the
 * start job had ended before systemd's reply came. A leftover line may belong to a systemd run that is over.
 */
const INPUTS: Readonly<Record<string, RunInput>> = {
  accepted,
  'accepted after B': { ...accepted, invocationBefore: B },
  'accepted after its end': { ...accepted, jobResult: 'done' },
  'accepted after B and its end': { ...accepted, invocationBefore: B, jobResult: 'done' },
  begin,
  progress,
  'end well': { ...end, content: { event: 'end', success: true } },
  'end badly': { ...end, content: { event: 'end', success: false } },
  'leftover begin': { ...begin, isLeftover: true },
  'leftover progress': { ...progress, isLeftover: true },
  silence: { kind: 'abandoned' },
};

/**
 * `text` is a key of `INPUTS`, the end of a job (`job1 done`), or facts of the unit (`active A`). A signal
 * brings such facts. In `read active A`, a reading brings the facts, after signals may have been missed. Two
 * other words may stand in place of `read`. `elsewhere`: the reading is from another manager. `stopped`:
 * somebody had stopped the unit before the reading.
 */
function inputOf(text: string): RunInput {
  const namedInput = INPUTS[text];
  if (namedInput !== undefined) return namedInput;
  const [firstWord = '', ...rest] = text.split(' ');
  if (/^job\d$/.test(firstWord)) {
    return { kind: 'job-ended', job: firstWord.replace('job', '/job/'), result: rest.join(' ') };
  }
  if (!['read', 'elsewhere', 'stopped'].includes(firstWord)) return { kind: 'facts', facts: factsOf(text) };
  const circumstances = {
    isSameManagerAndUnit: firstWord !== 'elsewhere',
    wasStopped: firstWord === 'stopped',
  };
  return { kind: 'facts-after-gap', facts: factsOf(rest.join(' ')), ...circumstances };
}

/** Returns the run after all inputs of `story`. A semicolon separates two inputs. */
function follow(from: Run, story: string): Run {
  let run = from;
  for (const text of story.split('; ')) run = nextRun(run, inputOf(text), NOW_MS);
  return run;
}

const idle = initialRun();
const failed = initialRun({ state: 'failed', invocation: B, origin: 'systemd' });
/** A systemd run is a run of the unit. A socket run began with a line at the progress socket. */
const running = follow(idle, 'accepted; activating A job1');
const socketRun = follow(idle, 'begin');

type Row = readonly [title: string, from: Run, story: string, expected: string];

/** `expected` is the run's state and origin, or 'same' if the published run must not change. */
function testRows(name: string, rows: readonly Row[]): void {
  describe(name, () => {
    for (const [title, from, story, expected] of rows) {
      test(title, () => {
        const followed = follow(from, story);
        // If a run is doubtful, RunKeeper reads the unit again (run-keeper.ts). By then the unit has no job.
        const confirmation = { kind: 'facts-after-doubt', facts: { ...followed.facts, job: '' } } as const;
        const run = followed.isDoubtful ? nextRun(followed, confirmation, NOW_MS) : followed;
        if (expected === 'same') assert.deepEqual(publishedRun(run), publishedRun(from));
        else assert.equal(`${run.state} ${run.origin ?? '-'}`, expected);
        const ranDuringStory = from.state === 'running' || run.begunRuns > from.begunRuns;
        const hasEnded = ranDuringStory && run.state !== 'running';
        assert.equal(run.finishedMs, hasEnded ? NOW_MS : undefined);
      });
    }
  });
}

const GOES = 'running systemd';
const WELL = 'idle systemd';
const BAD = 'failed systemd';

const NOT_RUNNING = [idle, failed];
testRows('the table of runs', [
  ...NOT_RUNNING.flatMap((from): Row[] => [
    [`${from.state}: systemd accepts a call of StartUnit`, from, 'accepted', GOES],
    [`${from.state}: somebody else starts the unit`, from, 'activating A', GOES],
    [`${from.state}: a begin line begins a run`, from, 'begin', 'running socket'],
    [`${from.state}: a progress line begins a run`, from, 'progress', 'running socket'],
    [`${from.state}: an end line begins no run`, from, 'end well', 'same'],
    [`${from.state}: a late line of a finished run begins no run`, from, 'leftover progress', 'same'],
  ]),
  ['systemd run: the job is done and the result is success', running, 'inactive A job1; job1 done', WELL],
  ['systemd run: the result is no success', running, 'failed A bad job1; job1 failed', BAD],
  ['systemd run: a reported failure decides nothing', running, 'end badly; inactive A; job1 done', WELL],
  ['systemd run: a reported success decides nothing', running, 'end well', 'same'],
  ['socket run: an end line reports success', socketRun, 'end well', 'idle socket'],
  ['socket run: an end line reports failure', socketRun, 'end badly', 'failed socket'],
  ['socket run: silence is a failure', socketRun, 'silence', 'failed socket'],
  ['systemd run: silence decides nothing', running, 'silence', 'same'],
  ["the daemon's start: the unit is activating", idle, 'read activating A', GOES],
  ["the daemon's start: the unit is active, and is no oneshot", idle, 'read active A running', GOES],
  ["the daemon's start: a oneshot has exited and stays active", idle, 'read active A exited', 'same'],
  ["the daemon's start: the unit is at rest", failed, 'read failed B bad', 'same'],
]);

const savedFields = { state: 'running', origin: 'systemd', invocation: A, startedMs: 5000 } as const;
const saved = initialRun(savedFields);
const savedWithJob1 = initialRun({ ...savedFields, startJob: '/job/1' });

testRows('a run that was going on when the daemon ended', [
  ['goes on', saved, 'read activating A', 'same'],
  ['goes on to its end', saved, 'read activating A job1; inactive A job1; job1 done', WELL],
  ['has failed', saved, 'read failed A bad', BAD],
  ['has ended well, and its unit has stayed active', saved, 'read active A exited', WELL],
  ['was stopped, and ended with status 0', saved, 'stopped inactive A', BAD],
  ['has an unknown result, because its unit was unloaded', saved, 'read inactive -', BAD],
  ['was cut off by a reboot', saved, 'elsewhere inactive -', BAD],
  ['was followed by another run, which failed', saved, 'read failed B bad', BAD],
  ['goes on in another try, which systemd began by itself', saved, 'read activating B again', 'same'],
  ['has ended well in another try, which systemd began by itself', saved, 'read active B exited again', WELL],
  ['is just being stopped, and ends with status 0', saved, 'read deactivating A job2; inactive A', BAD],
  ['goes on while a job of its unit is queued', saved, 'read inactive - job1', 'same'],
  [
    'has failed because its own job has failed',
    savedWithJob1,
    'read activating A job1; job1 timeout; inactive A',
    BAD,
  ],
  [
    'has ended well, although another job failed',
    savedWithJob1,
    'read activating A job2; job2 failed; inactive A',
    WELL,
  ],
]);

test('a run that outlives the daemon keeps its start time, and another run has its own start time', () => {
  assert.equal(follow(saved, 'read activating A at-7-s').startedMs, 5000);
  const next = follow(saved, 'read activating B at-7-s');
  assert.deepEqual([next.invocation, next.startedMs, next.begunRuns], [B, 7000, 1]);
  assert.equal(follow(saved, 'elsewhere activating A at-7-s').startedMs, 7000);
  assert.equal(follow(idle, 'read activating A at-7-s').startedMs, 7000);
});

const withoutInvocation = { state: 'running', origin: 'systemd', startedMs: 5000 } as const;
const acceptedAfterNone = initialRun({ ...withoutInvocation, invocationBefore: '' });
const acceptedAfterB = initialRun({ ...withoutInvocation, invocationBefore: B });

testRows('a run that had no known invocation when the daemon ended', [
  ['goes on while the earlier invocation stops', acceptedAfterB, 'read deactivating B', 'same'],
  ['has ended well, and its unit has stayed active', acceptedAfterNone, 'read active A exited', WELL],
  ['has failed if its unit, which is still loaded, was reset', acceptedAfterB, 'read inactive A reset', BAD],
  ['has failed if only the earlier invocation ran', acceptedAfterB, 'read active B exited', BAD],
  ['has failed if no invocation of the unit is known', initialRun(withoutInvocation), 'read inactive -', BAD],
]);

test('a run without a known invocation gets the invocation that a later reading finds', () => {
  const ended = follow(acceptedAfterNone, 'read active A exited');
  assert.deepEqual([ended.invocation, ended.invocationBefore], [A, undefined]);
  // The unit has exited, but has stayed active (RemainAfterExit=). Its later stop is not a run.
  assert.equal(follow(ended, 'deactivating A').state, 'idle');
});

/** A run whose unit has exited, but has stayed active (RemainAfterExit=). */
const exitedRun = initialRun({ state: 'idle', invocation: A });
/**
 * Parts of stories. `START`: a oneshot unit starts. `SERVICE`: a start is accepted, and the service runs.
 * `REMAINS`: a reading finds a unit that has exited, and then the unit gets a job. `RELOAD`: after the start
 * of a service, a reload fails, and the service ends.
 */
const START = 'inactive A job1; activating A job1';
const SERVICE = 'accepted; active A running job1; job1 done';
const REMAINS = 'read active A exited; active A exited job1';
const RELOAD = 'job1 done; active A running job2; job2 failed; active A running; inactive A';
/** States that a unit has between two other states. */
const PASSING_STATES = ['deactivating', 'reloading'];

testRows('signals and replies of systemd come in any order', [
  ['the reply comes after the run is over', idle, `${START}; failed A job1 bad; job1 failed; accepted`, BAD],
  ["the unit's condition is false, so its job ends without an invocation", idle, 'accepted; job1 done', BAD],
  ['a oneshot goes on while it has a job', idle, `accepted; ${START}; inactive A job1`, GOES],
  ['a service goes on after its start job has ended', idle, `${SERVICE}; active A running`, GOES],
  ['a service is stopped', idle, `${SERVICE}; deactivating A job2; inactive A job2; job2 done`, BAD],
  [
    'a start is queued while a service waits for its next try, which goes well',
    running,
    'job1 done; active A running; deactivating A job2 bad; activating B job2 again; inactive B again',
    WELL,
  ],
  [
    'a service ends by itself, and is deactivating for a moment',
    idle,
    `${SERVICE}; deactivating A; inactive A`,
    WELL,
  ],
  [
    'a oneshot ends by itself, and is deactivating for a moment',
    running,
    'deactivating A job1; inactive A; job1 done',
    WELL,
  ],
  ['the invocation is known before the reply', idle, `inactive A job1; ${SERVICE}; failed A bad`, BAD],
  ['a condition is false, and the reply comes last', idle, 'accepted after its end', BAD],
  ['a condition is false after a reset', failed, 'inactive B reset; accepted after B; job1 done', BAD],
  ['no signal comes while a quick unit works', failed, 'inactive A; accepted after B and its end', WELL],
  ['the job times out, but the unit works on', running, 'job1 timeout; activating A', GOES],
  ['the job times out, and the unit ends', running, 'job1 timeout; inactive A', BAD],
  ["somebody else's job times out", idle, 'activating A job1; job1 timeout; inactive A', BAD],
  ['a restart of the failed unit is a run of its own', failed, 'failed B; activating A', GOES],
  ['somebody else restarts the unit', running, 'inactive B job1; activating B job1', GOES],
  ['somebody else restarts the unit, which ends at once', running, 'inactive B', BAD],
  ['a stop of a unit that has exited, but stayed active, is no run', exitedRun, 'deactivating A', 'same'],
  ...PASSING_STATES.flatMap((state): Row[] => [
    [`${state}: an exited unit begins no run`, idle, `${REMAINS}; ${state} A job1; ${state} A`, 'same'],
    [`${state}: this state at the daemon's start begins no run`, idle, `read ${state} A; ${state} A`, 'same'],
  ]),
  ['a reload fails in a run that somebody else has started', idle, `active A running job1; ${RELOAD}`, WELL],
  ['a run goes on while its unit has a job', idle, `${SERVICE}; inactive A job2; job3 canceled`, GOES],
  ['the unit starts during a socket run', socketRun, 'activating A', GOES],
  ['the unit is at work: a line begins no run', { ...idle, facts: factsOf('activating -') }, 'begin', 'same'],
  ['a second begin line begins no run', socketRun, 'begin', 'same'],
]);

/** systemd sends the failure and the end of the job before the wait for the next try (observed). */
const FAILS = 'failed A bad job1; job1 failed';
const WAITS = `${FAILS}; activating A bad waits`;
const NEXT_TRY = `${WAITS}; activating A bad waits job1; inactive B job1 again; activating B job1 again`;
const STOPPED = 'inactive A bad job1; job1 done; inactive A bad';
const NEXT_TRY_WITHOUT_JOB = `${WAITS}; activating B again; job1 failed; inactive B again`;
const NEXT_TRY_OF_JOB2 = `${WAITS}; activating B job2 again`;

testRows('a unit that systemd starts again by itself', [
  ['continues the same run with its next try', running, NEXT_TRY, 'same'],
  [
    'has ended well when its last try has ended well',
    running,
    `${NEXT_TRY}; inactive B job1 again; job1 done`,
    WELL,
  ],
  ['has failed when it is stopped while it waits', running, `${WAITS}; ${STOPPED}`, BAD],
  [
    "has failed when the last try's own job has failed",
    running,
    `${NEXT_TRY_OF_JOB2}; job2 timeout; inactive B again`,
    BAD,
  ],
  [
    "has ended well if its last try has no job, though an earlier try's job failed",
    running,
    NEXT_TRY_WITHOUT_JOB,
    WELL,
  ],
  ['begins a run if it waits when the daemon first finds it', idle, 'activating A bad waits', GOES],
  ['begins another run when somebody else starts it', running, `${WAITS}; activating B job1`, GOES],
]);

test('all tries of a unit are one run, and a failure counts only when another reading confirms it', () => {
  const doubtful = follow(running, FAILS);
  assert.deepEqual([doubtful.state, doubtful.isDoubtful], ['running', true]);
  const afterReading = nextRun(
    doubtful,
    { kind: 'facts-after-doubt', facts: factsOf('activating A bad') },
    NOW_MS,
  );
  assert.deepEqual([afterReading.state, afterReading.isDoubtful], ['running', false]);

  const retried = follow(running, NEXT_TRY);
  assert.deepEqual([retried.begunRuns, retried.startedMs, retried.invocation], [1, running.startedMs, B]);
  // Without `again`, somebody else has started the unit, so this is another run.
  assert.equal(follow(running, `${WAITS}; activating B`).begunRuns, 2);
});

test('a run has a percentage from 0 to 100, even if a progress line has another number', () => {
  const percentOf = (percent: number) => {
    const content = { event: 'progress', percent, current: 1, step: '' } as const;
    return nextRun(socketRun, { ...progress, content }, NOW_MS).percent;
  };
  assert.deepEqual(
    [-1, 0, 100, 101, 1e300, Number.POSITIVE_INFINITY].map(percentOf),
    [0, 0, 100, 100, 100, 100],
  );
});

test('a run is published with UTC times in whole seconds, and keeps its start time after its end', () => {
  const published = (run: Run): unknown => JSON.parse(JSON.stringify(publishedRun(run)));
  const startedAt = '1970-01-01T00:16:40Z';
  assert.deepEqual(published(idle), { state: 'idle' });
  assert.deepEqual(published(running), { state: 'running', origin: 'systemd', started_at: startedAt });

  const ended = nextRun(follow(running, 'inactive A job1'), inputOf('job1 done'), NOW_MS + 61_999);
  const finishedAt = '1970-01-01T00:17:41Z';
  const expected = { state: 'idle', origin: 'systemd', started_at: startedAt, finished_at: finishedAt };
  assert.deepEqual(published(ended), expected);
});

test("if systemd's reply to a start comes after the run has ended, no second run begins", () => {
  const ended = follow(idle, 'activating A job1; inactive A job1; job1 done');
  assert.deepEqual([ended.state, ended.begunRuns], ['idle', 1]);
  assert.deepEqual(nextRun(ended, accepted, NOW_MS), ended);
});
