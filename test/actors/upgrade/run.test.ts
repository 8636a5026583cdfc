// The run: the contract's table row by row, the orders in which systemd tells things, and invariants over random events.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NOTHING_RAN, type RunFacts } from '../../../src/actors/bus/units.js';
import { initialRun, type Run, type RunInput, shownRun, step } from '../../../src/actors/upgrade/run.js';
import { SeededRandom } from '../../seeded-random.js';

const A = 'a'.repeat(32);
const B = 'b'.repeat(32);
const NOW = 1_000_000;

/** `job`: whether there is one. */
type More = Partial<Omit<RunFacts, 'job'>> & { readonly job?: boolean };

const facts = (activeState: string, invocation: string, { job = false, ...more }: More = {}): RunFacts => ({
  ...NOTHING_RAN,
  activeState,
  subState: activeState,
  invocation,
  ...more,
  job: job ? '/job/1' : '',
});
const unit = (activeState: string, invocation: string, more?: More): RunInput => ({
  kind: 'unit',
  facts: facts(activeState, invocation, more),
});
const read = (activeState: string, invocation: string, more?: More): RunInput => ({
  kind: 'read',
  facts: facts(activeState, invocation, more),
  sameManager: true,
});
const acceptedOver = (before: string): RunInput => ({
  kind: 'accepted',
  sinceCount: 0,
  before,
  job: '/job/1',
});
const accepted = acceptedOver('');
const job = (result: string, path = '/job/1'): RunInput => ({ kind: 'job-ended', job: path, result });
const begin: RunInput = { kind: 'line', says: { event: 'begin', total: 1 }, leftover: false };
const progress: RunInput = {
  kind: 'line',
  says: { event: 'progress', percent: 40, current: 1, step: 'unpack' },
  leftover: false,
};
const end = (success: boolean): RunInput => ({
  kind: 'line',
  says: { event: 'end', success },
  leftover: false,
});
const leftover = (input: RunInput): RunInput => ({ ...input, leftover: true }) as RunInput;

const idle = initialRun();
const failed = initialRun({ state: 'failed', invocation: B, origin: 'systemd' });
const follow = (run: Run, ...inputs: readonly RunInput[]): Run =>
  inputs.reduce((before, input) => step(before, input, NOW), run);
/** As `follow`, and then systemd confirms what was said last. */
const settled = (from: Run, ...inputs: readonly RunInput[]): Run => {
  const run = follow(from, ...inputs);
  return run.doubtful ? step(run, { kind: 'confirmed', facts: { ...run.facts, job: '' } }, NOW) : run;
};
const running = follow(idle, accepted, unit('activating', A, { job: true }));
const socketRun = follow(idle, begin);

/** `expected`: state and origin, or 'same' when the event's text must not change. */
function check(name: string, from: Run, inputs: readonly RunInput[], expected: string): void {
  test(name, () => {
    const to = settled(from, ...inputs);
    if (expected === 'same') assert.deepEqual(shownRun(to), shownRun(from));
    else assert.equal(`${to.state} ${to.origin ?? '-'}`, expected);
    const ended = to.state !== 'running' && (from.state === 'running' || to.count > from.count);
    assert.equal(to.finishedMs, ended ? NOW : undefined);
  });
}

describe("the contract's table", () => {
  for (const [name, from] of [['idle', idle] as const, ['failed', failed] as const]) {
    check(`${name}: the trigger succeeds`, from, [accepted], 'running systemd');
    check(`${name}: the unit starts by other hands`, from, [unit('activating', A)], 'running systemd');
    check(`${name}: a begin line`, from, [begin], 'running socket');
    check(`${name}: a progress line`, from, [progress], 'running socket');
    check(`${name}: an end line`, from, [end(true)], 'same');
    check(`${name}: a line of a finished systemd run's connection`, from, [leftover(progress)], 'same');
  }
  check(
    'running: the job is done, the result success',
    running,
    [unit('inactive', A, { job: true }), job('done')],
    'idle systemd',
  );
  check(
    'running: the result is no success',
    running,
    [unit('failed', A, { result: 'exit-code', job: true }), job('failed')],
    'failed systemd',
  );
  check(
    'running: the result is no success although the script said so',
    running,
    [end(true), unit('failed', A, { result: 'exit-code' }), job('failed')],
    'failed systemd',
  );
  check(
    'running: success although the script said failure',
    running,
    [end(false), unit('inactive', A), job('done')],
    'idle systemd',
  );
  check(
    'running: the job is not done',
    running,
    [unit('inactive', A, { job: true }), job('canceled')],
    'failed systemd',
  );
  check('running: an end line decides nothing', running, [end(true)], 'same');
  check('running: progress is no event', running, [progress], 'same');
  check('socket: end with success', socketRun, [end(true)], 'idle socket');
  check('socket: end with failure', socketRun, [end(false)], 'failed socket');
  check('socket: silence', socketRun, [{ kind: 'abandoned' }], 'failed socket');
  check('systemd: silence is nothing', running, [{ kind: 'abandoned' }], 'same');
  check('start: the unit is activating', idle, [read('activating', A)], 'running systemd');
  check(
    'start: the unit is active, no oneshot',
    idle,
    [read('active', A, { subState: 'running' })],
    'running systemd',
  );
  check('start: a oneshot that remains', idle, [read('active', A, { subState: 'exited' })], 'same');
  check('start: the unit rests', failed, [read('failed', B, { result: 'exit-code' })], 'same');
});

describe('a run that was going on when the daemon ended', () => {
  const saved = initialRun({ state: 'running', origin: 'systemd', invocation: A, startedMs: 5000 });
  const elsewhere = (input: RunInput): RunInput => ({ ...input, sameManager: false }) as RunInput;
  check('goes on', saved, [read('activating', A)], 'same');
  check('goes on while it stops', saved, [read('deactivating', A)], 'same');
  check(
    'goes on to its end',
    saved,
    [read('activating', A, { job: true }), unit('inactive', A, { job: true }), job('done')],
    'idle systemd',
  );
  check('has failed', saved, [read('failed', A, { result: 'exit-code' })], 'failed systemd');
  check('has been forgotten, and nobody can tell', saved, [read('inactive', '')], 'failed systemd');
  check(
    'has ended well and is remembered',
    saved,
    [read('active', A, { subState: 'exited' })],
    'idle systemd',
  );
  check(
    'has failed and been reset, and is loaded',
    saved,
    [read('inactive', A, { reset: true })],
    'failed systemd',
  );
  check('has ended well and is loaded', saved, [read('inactive', A)], 'idle systemd');
  check('was cut off by a reboot', saved, [elsewhere(read('inactive', ''))], 'failed systemd');
  check(
    'was followed by another that failed',
    saved,
    [read('failed', B, { result: 'exit-code' })],
    'failed systemd',
  );
  check(
    'was followed by another that ended well',
    saved,
    [read('inactive', B, { result: 'success' })],
    'failed systemd',
  );
  check('waits to be started again', saved, [read('activating', A, { subState: 'auto-restart' })], 'same');
  check('was started again by systemd itself', saved, [read('activating', B, { restarts: 1 })], 'same');
  check(
    'was started again by systemd itself, and ended well',
    saved,
    [read('active', B, { subState: 'exited', restarts: 2 })],
    'idle systemd',
  );
  check(
    'was started again by systemd itself, and failed',
    saved,
    [read('failed', B, { result: 'exit-code', restarts: 2 })],
    'failed systemd',
  );
  check('is queued still', saved, [read('inactive', '', { job: true })], 'same');

  test('keeps its time, and another one has its own', () => {
    assert.equal(follow(saved, read('activating', A, { startedMs: 7000 })).startedMs, 5000);
    const next = follow(saved, read('activating', B, { startedMs: 7000 }));
    assert.deepEqual([next.invocation, next.startedMs, next.count], [B, 7000, 1]);
    assert.equal(follow(saved, elsewhere(read('activating', A, { startedMs: 7000 }))).startedMs, 7000);
    assert.equal(follow(idle, read('activating', A, { startedMs: 7000 })).startedMs, 7000);
  });
});

describe('a run of which only the acceptance was seen when the daemon ended', () => {
  const begun = { state: 'running', origin: 'systemd', startedMs: 5000 } as const;
  const first = initialRun({ ...begun, before: '' });
  const again = initialRun({ ...begun, before: B });
  const failure = { result: 'exit-code' };
  check('goes on', first, [read('activating', A)], 'same');
  check('goes on, once what was before has stopped', again, [read('deactivating', B)], 'same');
  check('is queued still', again, [read('failed', B, { ...failure, job: true })], 'same');
  check('has failed', first, [read('failed', A, failure)], 'failed systemd');
  check(
    'has ended well and is remembered',
    first,
    [read('active', A, { subState: 'exited' })],
    'idle systemd',
  );
  check('has ended well and is loaded', again, [read('inactive', A)], 'idle systemd');
  check('has been forgotten, and nobody can tell', first, [read('inactive', '')], 'failed systemd');
  check(
    'has failed and been reset, and is loaded',
    again,
    [read('inactive', A, { reset: true })],
    'failed systemd',
  );
  check('never ran behind a failure', again, [read('failed', B, failure)], 'failed systemd');
  check('never ran behind a success', again, [read('active', B, { subState: 'exited' })], 'failed systemd');
  check(
    'was cut off by a reboot',
    first,
    [{ ...read('inactive', ''), sameManager: false } as RunInput],
    'failed systemd',
  );
  check('is not known to have been before', initialRun(begun), [read('inactive', '')], 'failed systemd');

  test('has the invocation that it was found to be', () => {
    const over = follow(first, read('active', A, { subState: 'exited' }));
    assert.deepEqual([over.invocation, over.before], [A, undefined]);
    // A stop of what remained is no run.
    assert.equal(follow(over, unit('deactivating', A)).state, 'idle');
  });
});

describe('the orders in which systemd tells things', () => {
  const fresh = unit('inactive', A, { job: true });
  const start = unit('activating', A, { job: true });
  check(
    'a oneshot',
    idle,
    [accepted, fresh, start, unit('inactive', A, { job: true }), job('done'), unit('inactive', A)],
    'idle systemd',
  );
  check(
    'a oneshot is not over before its job',
    idle,
    [accepted, fresh, start, unit('inactive', A, { job: true })],
    'running systemd',
  );
  check(
    'the reply comes last, the run is over',
    idle,
    [fresh, start, unit('failed', A, { job: true, result: 'exit-code' }), job('failed'), accepted],
    'failed systemd',
  );
  check('the reply comes behind the start', idle, [fresh, start, accepted], 'running systemd');
  check(
    'a service that ends later',
    idle,
    [
      accepted,
      unit('active', A, { job: true, subState: 'running' }),
      job('done'),
      unit('active', A, { subState: 'running' }),
    ],
    'running systemd',
  );
  check(
    'a service that ends later, badly',
    idle,
    [
      accepted,
      unit('active', A, { job: true, subState: 'running' }),
      job('done'),
      unit('failed', A, { result: 'exit-code' }),
    ],
    'failed systemd',
  );
  check('a condition is false', idle, [accepted, job('done')], 'failed systemd');
  check(
    'a condition is false, and the reply comes last',
    idle,
    [{ ...accepted, jobResult: 'done' } as RunInput],
    'failed systemd',
  );
  check(
    'a condition is false behind a failure',
    failed,
    [
      unit('failed', B, { result: 'exit-code' }),
      acceptedOver(B),
      unit('failed', B, { job: true, result: 'exit-code' }),
      job('done'),
    ],
    'failed systemd',
  );
  check(
    'a condition is false behind a failure that was reset',
    failed,
    [unit('inactive', B, { reset: true }), acceptedOver(B), job('done')],
    'failed systemd',
  );
  check(
    'it was so quick that its work was never seen',
    failed,
    [unit('inactive', A), { ...acceptedOver(B), jobResult: 'done' } as RunInput],
    'idle systemd',
  );
  check('a dependency fails', idle, [accepted, fresh, job('dependency')], 'failed systemd');
  check(
    'the job times out, the unit works on',
    idle,
    [accepted, start, job('timeout'), unit('activating', A)],
    'running systemd',
  );
  check(
    'the job times out, and the unit ends well',
    idle,
    [accepted, start, job('timeout'), unit('inactive', A)],
    'failed systemd',
  );
  check(
    'stopped while it starts',
    idle,
    [
      accepted,
      start,
      job('canceled'),
      unit('deactivating', A, { job: true }),
      unit('inactive', A, { job: true }),
      job('done'),
    ],
    'failed systemd',
  );
  check(
    'a restart of the failed unit is a run of its own',
    failed,
    [unit('failed', B), unit('activating', A)],
    'running systemd',
  );
  check(
    'restarted by other hands',
    running,
    [unit('inactive', B, { job: true }), unit('activating', B, { job: true })],
    'running systemd',
  );
  check(
    'a stop of what remained is no run',
    initialRun({ state: 'idle', invocation: A }),
    [unit('deactivating', A)],
    'same',
  );
  for (const [what, state] of [
    ['stop', 'deactivating'],
    ['reload', 'reloading'],
  ] as const) {
    const remained = unit('active', A, { subState: 'exited', job: true });
    check(
      `a ${what} of what remained before the daemon came is no run`,
      idle,
      [read('active', A, { subState: 'exited' }), remained, unit(state, A, { job: true }), unit(state, A)],
      'same',
    );
    check(
      `a ${what} that the daemon meets as it comes is no run`,
      idle,
      [read(state, A), unit(state, A)],
      'same',
    );
  }
  check(
    'the new invocation is told before the reply, and fails later',
    idle,
    [
      fresh,
      accepted,
      unit('active', A, { subState: 'running' }),
      job('done'),
      unit('failed', A, { result: 'exit-code' }),
    ],
    'failed systemd',
  );
  check(
    'what remained is started again',
    initialRun({ state: 'idle', invocation: B }),
    [
      unit('active', B, { subState: 'exited' }),
      acceptedOver(B),
      unit('deactivating', B, { job: true }),
      unit('inactive', A, { job: true }),
      start,
      unit('active', A, { subState: 'exited', job: true }),
      job('done'),
    ],
    'idle systemd',
  );
  const works = (path: string): RunInput => ({
    kind: 'unit',
    facts: { ...facts('active', A, { subState: 'running' }), job: path },
  });
  const ends = unit('inactive', A);
  check(
    'a reload fails, and the service ends well',
    idle,
    [accepted, works('/job/1'), job('done'), works('/job/2'), job('failed', '/job/2'), works(''), ends],
    'idle systemd',
  );
  check(
    'a reload fails, and the service that other hands started ends well',
    idle,
    [works('/job/1'), job('done'), works('/job/2'), job('failed', '/job/2'), works(''), ends],
    'idle systemd',
  );
  check(
    'a reload is well, and the job that other hands made is not',
    idle,
    [works('/job/1'), job('timeout'), works('/job/2'), job('done', '/job/2'), works(''), ends],
    'failed systemd',
  );
  check(
    'a run is not over while another job of its unit is left',
    idle,
    [
      accepted,
      works('/job/1'),
      job('done'),
      { ...ends, facts: { ...facts('inactive', A), job: '/job/2' } } as RunInput,
      job('canceled', '/job/3'),
    ],
    'running systemd',
  );
  check('the unit starts during a run of the socket', socketRun, [unit('activating', A)], 'running systemd');
  check(
    'a line while the unit works, not yet taken for a run',
    { ...idle, facts: facts('activating', '') },
    [begin],
    'same',
  );
  check('a second begin begins nothing', socketRun, [begin], 'same');

  test('progress shows while the run lasts, and begins anew with the next', () => {
    const shown = follow(running, progress);
    assert.deepEqual([shown.percent, shown.step], [40, 'unpack']);
    const over = follow(shown, unit('inactive', A), job('done'));
    assert.deepEqual([over.percent, over.step], [undefined, undefined]);
    assert.equal(follow(over, begin).percent, undefined);
  });
});

describe('a unit that systemd starts again by itself', () => {
  const failure = { result: 'exit-code' };
  const waits = unit('activating', A, { ...failure, subState: 'auto-restart' });
  /** As observed: the failure, the end of the first job, and only then that it will be started again. */
  const tried = [unit('failed', A, { ...failure, job: true }), job('failed'), waits];
  const next = [
    unit('activating', A, { ...failure, subState: 'auto-restart', job: true }),
    unit('inactive', B, { job: true, restarts: 1 }),
    unit('activating', B, { job: true, restarts: 1 }),
  ];
  check('is still running', running, tried, 'same');
  check('is still running with its next try', running, [...tried, ...next], 'same');
  check(
    'has ended well when its last try has',
    running,
    [...tried, ...next, unit('inactive', B, { job: true, restarts: 1 }), job('done')],
    'idle systemd',
  );
  check(
    'has failed when its last try has',
    running,
    [...tried, ...next, unit('failed', B, { ...failure, job: true, restarts: 1 }), job('failed')],
    'failed systemd',
  );
  check(
    'has failed when it is not let try again',
    running,
    [...tried, unit('failed', A, { ...failure, job: true }), job('failed')],
    'failed systemd',
  );
  check(
    'has failed when it is stopped while it waits',
    running,
    [...tried, unit('inactive', A, { ...failure, job: true }), job('done'), unit('inactive', A, failure)],
    'failed systemd',
  );
  /** The next try at work, and behind it what becomes of it; systemd gives each job a path of its own. */
  const nextUnder = (path: string): RunInput => ({
    kind: 'unit',
    facts: { ...facts('activating', B, { restarts: 1 }), job: path },
  });
  const endsWell = unit('inactive', B, { restarts: 1 });
  check(
    "has failed when the last try's own job has",
    running,
    [...tried, nextUnder('/job/2'), job('timeout', '/job/2'), endsWell],
    'failed systemd',
  );
  check(
    'has ended well whatever is told of the job of an earlier try',
    running,
    [...tried, nextUnder('/job/2'), job('failed'), job('done', '/job/2'), endsWell],
    'idle systemd',
  );
  check(
    'has ended well whatever is told of the job of an earlier try, when the last has none',
    running,
    [...tried, nextUnder(''), job('failed'), endsWell],
    'idle systemd',
  );
  check('is a run when it is met while it waits', idle, [waits], 'running systemd');
  check(
    'is another run when other hands start it',
    running,
    [...tried, unit('activating', B, { job: true })],
    'running systemd',
  );

  test('is one run over all its tries, and not failed before that is confirmed', () => {
    const doubted = follow(running, ...tried.slice(0, 2));
    assert.deepEqual([doubted.state, doubted.doubtful], ['running', true]);
    const confirmed = step(doubted, { kind: 'confirmed', facts: facts('activating', A, failure) }, NOW);
    assert.deepEqual([confirmed.state, confirmed.doubtful], ['running', false]);
    const after = follow(running, ...tried, ...next);
    assert.deepEqual([after.count, after.startedMs, after.invocation], [1, running.startedMs, B]);
    assert.equal(follow(running, ...tried, unit('activating', B)).count, 2);
  });
});

test('what is shown of a percent is one', () => {
  const shown = (percent: number) =>
    follow(socketRun, {
      kind: 'line',
      says: { event: 'progress', percent, current: 1, step: '' },
      leftover: false,
    }).percent;
  assert.deepEqual([-1, 0, 100, 101, 1e300, Number.POSITIVE_INFINITY].map(shown), [0, 0, 100, 100, 100, 100]);
});

test('random events keep the invariants', () => {
  const random = new SeededRandom(20_261_120);
  const coin = () => random.below(2) === 0;
  const inputs = (run: Run): RunInput =>
    random.pick([
      { kind: 'accepted', sinceCount: run.count, before: run.facts.invocation, job: '/job/1' },
      { kind: 'confirmed', facts: facts(random.pick(['failed', 'activating']), random.pick([A, B, ''])) },
      ...['inactive', 'activating', 'active', 'deactivating', 'failed'].map((state) =>
        unit(state, random.pick([A, B, '']), { job: coin(), result: random.pick(['success', 'exit-code']) }),
      ),
      read(random.pick(['inactive', 'activating', 'failed']), random.pick([A, B, '']), { reset: coin() }),
      job(random.pick(['done', 'failed', 'canceled']), random.pick(['/job/1', '/job/2'])),
      begin,
      progress,
      leftover(begin),
      end(coin()),
      { kind: 'abandoned' },
    ]);
  let run = idle;
  for (let round = 0; round < 50_000; round++) {
    const before = run;
    const input = inputs(run);
    run = step(before, input, round);
    const ended = before.state === 'running' && run.state !== 'running';
    const what = `${JSON.stringify(before)} ${JSON.stringify(input)} -> ${JSON.stringify(run)}`;
    // Failed stays failed until the next run.
    if (before.state === 'failed') assert.ok(run.state === 'failed' || run.count > before.count, what);
    // One at a time: a run begins only where none is, or takes the place of the one that this very event ends.
    if (run.count > before.count && before.state === 'running') assert.ok(input.kind !== 'line', what);
    assert.ok(run.count - before.count <= 1 && run.count >= before.count, what);
    // Lines end no systemd run.
    if (ended && before.origin === 'systemd')
      assert.ok(input.kind !== 'line' && input.kind !== 'abandoned', what);
    // A good verdict is the invocation's own.
    if (ended && before.origin === 'systemd' && run.state === 'idle') {
      assert.ok(run.invocation === run.facts.invocation && before.badJob === undefined, what);
    }
    // Progress only while running; an end has its time.
    assert.ok(run.state === 'running' || run.percent === undefined, what);
    if (ended) assert.equal(run.finishedMs, round, what);
  }
});
