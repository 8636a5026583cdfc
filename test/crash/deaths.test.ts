// Tests every way in which the thread of a child can die. The thread is replaced, the child's health has the
// reason, pending commands are answered, and the other child continues.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../src/protocol/actor/commands.js';
import { RESTARTS } from '../../src/supervisor/policy.js';
import { HEAP_LIMITS } from '../../src/supervisor/threads.js';
import { ManualClock } from '../manual-clock.js';
import {
  childrenUp,
  faultOf,
  QUICK_HEARTBEAT,
  type Supervised,
  type SupervisedOptions,
  startChildren,
  THREW_AT_LOAD,
} from './harness.js';

function textOf(answer: Answer): string {
  assert.ok(answer.ok, `answered ${JSON.stringify(answer)}`);
  return answer.value.text ?? '';
}

/** The fixture obedient.ts does not know this word, so it answers with the number of its thread. */
const WHICH_THREAD = 'who';

/** The number of the thread of the child `power`, which must never die. */
async function threadOfNeighbour({ ask, recorder }: Supervised): Promise<string> {
  await recorder.untilState('power', 'up');
  assert.equal(recorder.healthOf('power')?.restarts, 0);
  return textOf(await ask('power', WHICH_THREAD));
}

/** A row has the cause of the actor's death, and the reason in the child's health afterwards. */
type DeathRow = readonly [commandOrFixture: string, detail: RegExp, options?: SupervisedOptions];

const WITH_QUICK_HEARTBEAT: SupervisedOptions = { heartbeat: QUICK_HEARTBEAT };
const SMALL_HEAP: SupervisedOptions = { heapLimits: { ...HEAP_LIMITS, maxOldGenerationSizeMb: 16 } };

const DEATHS_ON_COMMAND: readonly DeathRow[] = [
  ['throw later', /^thread ended: thrown later$/],
  ['throw', /^thread ended: thrown in a command$/],
  ['reject later', /^thread ended: rejected later$/],
  ['exit', /^thread ended: exit code 7$/],
  ['exhaust', /^thread ended: out of memory$/, SMALL_HEAP],
  ['hang', /^thread ended: hung: busy and no answer to a ping for \d+ s$/, WITH_QUICK_HEARTBEAT],
  ['flood', /^thread ended: flooded the main thread with messages$/],
];
for (const [word, detail, options] of DEATHS_ON_COMMAND) {
  test(`an actor that dies of the command ${word} is replaced, and the other actor continues`, async (t) => {
    const supervised = await childrenUp(t, { audio: 'obedient', power: 'obedient' }, options);
    const { ask, recorder } = supervised;
    const neighbourBefore = await threadOfNeighbour(supervised);
    const threadBefore = textOf(await ask('audio', WHICH_THREAD));

    const dying = ask('audio', word);
    await recorder.untilState('audio', 'restarting', 1);
    assert.match(recorder.healthOf('audio')?.detail ?? '', detail);
    // `throw later` and `reject later` are answered before the thread dies.
    assert.ok(['none', 'unavailable'].includes(faultOf(await dying)), 'the command has another fault');

    await recorder.untilState('audio', 'up', 1);
    assert.notEqual(textOf(await ask('audio', WHICH_THREAD)), threadBefore);
    assert.deepEqual(recorder.statesOf('audio'), ['connecting', 'up', 'restarting', 'up']);
    assert.equal(recorder.healthOf('audio')?.restarts, 1);
    assert.equal(recorder.healthOf('audio')?.detail, undefined);
    const afterDeath = recorder.sequence.slice(recorder.sequence.indexOf('restarting'));
    assert.deepEqual(afterDeath, ['restarting', 'up'], 'the dead thread still sends messages');
    assert.equal(await threadOfNeighbour(supervised), neighbourBefore);
  });
}

const DEATHS_AT_START: readonly DeathRow[] = [
  ['throws-at-load', THREW_AT_LOAD],
  ['throws-at-start', /^thread ended: cannot start$/],
  ['not-a-function', /^thread ended: No handler function exported from .*not-a-function\.js$/],
  ['missing-entry', /^thread ended: Cannot find module .*missing-entry\.js/],
  ['returns-early', /^thread ended: returned without being asked to$/],
  ['hangs-at-load', /^thread ended: hung: /, WITH_QUICK_HEARTBEAT],
];
for (const [fixture, detail, options] of DEATHS_AT_START) {
  test(`an actor whose fixture is ${fixture} dies with a reason, and the other actor continues`, async (t) => {
    const oneRestart = { waitsMs: [0], windowMs: 60_000, pauseMs: 60_000 };
    const fixtures = { audio: fixture, power: 'obedient' };
    const supervised = startChildren(t, fixtures, { restarts: oneRestart, ...options });
    const { ask, recorder } = supervised;
    await recorder.untilState('audio', 'restarting', 1);
    assert.match(recorder.healthOf('audio')?.detail ?? '', detail);
    const neighbourBefore = await threadOfNeighbour(supervised);

    await recorder.untilState('audio', 'failed', 2);
    assert.match(recorder.healthOf('audio')?.detail ?? '', /; 2 deaths in 60 s$/);
    assert.deepEqual(recorder.statesOf('audio'), ['connecting', 'restarting', 'failed']);
    assert.equal(faultOf(await ask('audio', WHICH_THREAD)), 'unavailable');
    assert.equal(await threadOfNeighbour(supervised), neighbourBefore);
  });
}

test('an actor that is idle and never reads its messages is killed after several pings', async (t) => {
  const { recorder } = startChildren(t, { audio: 'deaf' }, { heartbeat: QUICK_HEARTBEAT });
  await recorder.untilState('audio', 'restarting', 1);
  assert.match(recorder.healthOf('audio')?.detail ?? '', /^thread ended: not responding: idle and no answer/);
});

/** The command `speak and exit` publishes this number of records. Their keys count from 0. */
const SPOKEN_RECORDS = 20 * 1024;
const MAIN_THREAD_BLOCKED_MS = 300;

test('all messages that a thread sent before its death arrive', async (t) => {
  const { ask, recorder } = await childrenUp(t, { audio: 'obedient' });
  const dying = ask('audio', 'speak and exit');
  // While the main thread is blocked, both the messages and the death arrive. The supervisor must deliver
  // the messages, although it may learn of the death first.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, MAIN_THREAD_BLOCKED_MS);
  await dying;

  const firstStateCount = ['connecting', 'up'].length;
  const puts = recorder.sequence.slice(firstStateCount, recorder.sequence.indexOf('restarting'));
  assert.equal(puts.length, SPOKEN_RECORDS);
  assert.equal(puts.at(-1), `put ${SPOKEN_RECORDS - 1}`);
});

test('each state of a child is logged once, with the stack of the error', async (t) => {
  const threeRestarts = { ...RESTARTS, waitsMs: [0, 0, 0] };
  const { recorder } = startChildren(t, { audio: 'throws-at-load' }, { restarts: threeRestarts });
  await recorder.untilState('audio', 'failed', 4);

  const lines = recorder.lines.map(({ level, message }) => `${level} ${message}`);
  assert.deepEqual(lines, [
    'info backend is connecting',
    'warn backend is restarting',
    'error backend is failed',
  ]);
  const restarting = recorder.lines[1];
  assert.match(String(restarting?.fields['stack']), /throws-at-load/);
  assert.equal(restarting?.fields['backend'], 'audio');
});

test('commands that wait for a dying thread are answered unavailable, oldest first', async (t) => {
  const { ask } = await childrenUp(t, { audio: 'obedient' });
  const answered: number[] = [];
  const waiting = [1, 2, 3].map(async (number) => {
    const answer = await ask('audio', 'wait');
    answered.push(number);
    return faultOf(answer);
  });
  const dying = ask('audio', 'throw');

  assert.deepEqual(await Promise.all(waiting), ['unavailable', 'unavailable', 'unavailable']);
  assert.equal(faultOf(await dying), 'unavailable');
  assert.deepEqual(answered, [1, 2, 3]);
});

test('a child is restarted after each of 5 deaths in 60 s, and stays failed for 60 s after the sixth', async (t) => {
  const clock = new ManualClock();
  const { recorder } = startChildren(t, { audio: 'throws-at-load' }, { clock, restarts: RESTARTS });
  const begun = clock.date();
  const expectedWaitsMs = [0, 250, 500, 1000, 2000];
  for (const [earlierDeaths, waitMs] of expectedWaitsMs.entries()) {
    const deaths = earlierDeaths + 1;
    await recorder.untilState('audio', 'restarting', deaths);
    // A further death does not change `since`.
    assert.equal(recorder.healthOf('audio')?.since, begun);
    const firedBefore = clock.fired;
    // A wait of 0 ms has no moment before its end, so the clock does not move here.
    if (waitMs > 0) clock.advance(waitMs - 1);
    // Only the clock shows a start that comes too early. The health changes only when the new thread dies.
    assert.equal(clock.fired, firedBefore, `the child is restarted before ${waitMs} ms`);
    clock.advance(waitMs > 0 ? 1 : 0);
    assert.equal(clock.fired, firedBefore + 1);
  }

  await recorder.untilState('audio', 'failed', 6);
  assert.match(recorder.healthOf('audio')?.detail ?? '', THREW_AT_LOAD);
  assert.match(recorder.healthOf('audio')?.detail ?? '', /; 6 deaths in 60 s$/);
  assert.equal(recorder.healthOf('audio')?.since, clock.date());

  clock.advance(59_999);
  assert.equal(recorder.healthOf('audio')?.state, 'failed');
  clock.advance(1);
  assert.equal(recorder.healthOf('audio')?.state, 'restarting');
  // The six deaths are no longer counted, so the seventh death is the first again.
  await recorder.untilState('audio', 'restarting', 7);
});
