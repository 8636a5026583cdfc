// Every way in which the thread of a child can die: the thread is replaced, the child's health has the
// reason, pending commands are answered, and the other child continues.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../src/protocol/actor/commands.js';
import { RESTARTS } from '../../src/supervisor/policy.js';
import { HEAP_LIMITS } from '../../src/supervisor/threads.js';
import { ManualClock } from '../manual-clock.js';
import {
  childrenUp,
  QUICK_PULSE,
  type Supervised,
  type SupervisedOptions,
  startChildren,
  THREW_AT_LOAD,
} from './harness.js';

function textOf(answer: Answer): string {
  assert.ok(answer.ok, `answered ${JSON.stringify(answer)}`);
  return answer.value.text ?? '';
}

const faultOf = (answer: Answer): string => (answer.ok ? 'none' : answer.error.fault);

/** Asks the other child for the number of its thread, which must never change. */
async function neighbour({ ask, recorder }: Supervised): Promise<string> {
  await recorder.untilState('power', 'up');
  assert.equal(recorder.now('power')?.restarts, 0);
  return textOf(await ask('power', 'who'));
}

/** The word in the actor's command, or the name of its fixture; and the reason of its death. */
type DeathRow = readonly [what: string, detail: RegExp, options?: SupervisedOptions];

const HUNG: SupervisedOptions = { heartbeat: QUICK_PULSE };
const SMALL_HEAP: SupervisedOptions = { heapLimits: { ...HEAP_LIMITS, maxOldGenerationSizeMb: 16 } };

const DEATHS_ON_COMMAND: readonly DeathRow[] = [
  ['throw later', /^thread ended: thrown later$/],
  ['throw', /^thread ended: thrown in a command$/],
  ['reject later', /^thread ended: rejected later$/],
  ['exit', /^thread ended: exit code 7$/],
  ['exhaust', /^thread ended: out of memory$/, SMALL_HEAP],
  ['hang', /^thread ended: hung: busy and no answer to a ping for \d+ s$/, HUNG],
  ['flood', /^thread ended: flooded the main thread with messages$/],
];
for (const [word, detail, options] of DEATHS_ON_COMMAND) {
  test(`an actor that dies of the command ${word} is replaced, and the other actor continues`, async (t) => {
    const supervised = await childrenUp(t, { audio: 'obedient', power: 'obedient' }, options);
    const { ask, recorder } = supervised;
    const before = await neighbour(supervised);
    const first = textOf(await ask('audio', 'who'));
    const dying = ask('audio', word);
    await recorder.untilState('audio', 'restarting', 1);
    assert.match(recorder.now('audio')?.detail ?? '', detail);
    assert.ok(['none', 'unavailable'].includes(faultOf(await dying)));
    await recorder.untilState('audio', 'up', 1);
    assert.notEqual(textOf(await ask('audio', 'who')), first);
    assert.deepEqual(recorder.states('audio'), ['connecting', 'up', 'restarting', 'up']);
    assert.equal(recorder.now('audio')?.restarts, 1);
    assert.equal(recorder.now('audio')?.detail, undefined);
    const afterDeath = recorder.sequence.slice(recorder.sequence.indexOf('restarting'));
    assert.deepEqual(afterDeath, ['restarting', 'up'], 'the dead thread still sends messages');
    assert.equal(await neighbour(supervised), before);
  });
}

const DEATHS_AT_BIRTH: readonly DeathRow[] = [
  ['throws-at-load', THREW_AT_LOAD],
  ['throws-at-start', /^thread ended: cannot start$/],
  ['not-a-function', /^thread ended: No handler function exported from .*not-a-function\.js$/],
  ['missing-entry', /^thread ended: Cannot find module .*missing-entry\.js/],
  ['returns-early', /^thread ended: returned without being asked to$/],
  ['hangs-at-load', /^thread ended: hung: /, HUNG],
];
for (const [fixture, detail, options] of DEATHS_AT_BIRTH) {
  test(`an actor whose fixture is ${fixture} dies with a reason, and the other actor continues`, async (t) => {
    const restarts = { waitsMs: [0], windowMs: 60_000, pauseMs: 60_000 };
    const supervised = startChildren(t, { audio: fixture, power: 'obedient' }, { restarts, ...options });
    const { ask, recorder } = supervised;
    await recorder.untilState('audio', 'restarting', 1);
    assert.match(recorder.now('audio')?.detail ?? '', detail);
    const before = await neighbour(supervised);
    await recorder.untilState('audio', 'failed', 2);
    assert.match(recorder.now('audio')?.detail ?? '', /; 2 deaths in 60 s$/);
    assert.deepEqual(recorder.states('audio'), ['connecting', 'restarting', 'failed']);
    assert.equal(faultOf(await ask('audio', 'who')), 'unavailable');
    assert.equal(await neighbour(supervised), before);
  });
}

test('an actor that is idle and never reads its messages is killed after several pings', async (t) => {
  const { recorder } = startChildren(t, { audio: 'deaf' }, { heartbeat: QUICK_PULSE });
  await recorder.untilState('audio', 'restarting', 1);
  assert.match(recorder.now('audio')?.detail ?? '', /^thread ended: not responding: idle and no answer/);
});

test('all messages that a thread sent before its death arrive', async (t) => {
  const { ask, recorder } = await childrenUp(t, { audio: 'obedient' });
  const dying = ask('audio', 'speak and exit');
  // The main thread is blocked, so that the messages and the death wait for it together.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  await dying;
  const received = recorder.sequence.slice(2, recorder.sequence.indexOf('restarting'));
  assert.equal(received.length, 20 * 1024);
  assert.equal(received.at(-1), `put ${20 * 1024 - 1}`);
});

test('each state of a child is logged once, with the stack of the error', async (t) => {
  const restarts = { ...RESTARTS, waitsMs: [0, 0, 0] };
  const { recorder } = startChildren(t, { audio: 'throws-at-load' }, { restarts });
  await recorder.untilState('audio', 'failed', 4);
  const lines = recorder.lines.map(({ level, message }) => `${level} ${message}`);
  const actual = 'info backend is connecting,warn backend is restarting,error backend is failed';
  assert.equal(lines.join(), actual);
  assert.match(String(recorder.lines[1]?.fields['stack']), /throws-at-load/);
  assert.equal(recorder.lines[1]?.fields['backend'], 'audio');
});

test('commands that wait for a dying thread are answered unavailable, oldest first', async (t) => {
  const { ask } = await childrenUp(t, { audio: 'obedient' });
  const order: number[] = [];
  const waiting = [1, 2, 3].map(async (number) => {
    const answer = await ask('audio', 'wait');
    order.push(number);
    return faultOf(answer);
  });
  const dying = ask('audio', 'throw');
  assert.deepEqual(await Promise.all(waiting), ['unavailable', 'unavailable', 'unavailable']);
  assert.equal(faultOf(await dying), 'unavailable');
  assert.deepEqual(order, [1, 2, 3]);
});

test('after 5 deaths in 60 s a child is restarting, after the sixth it has failed and waits for 60 s', async (t) => {
  const clock = new ManualClock();
  const { recorder } = startChildren(t, { audio: 'throws-at-load' }, { clock, restarts: RESTARTS });
  const since = clock.date();
  for (const [died, waitMs] of [0, 250, 500, 1000, 2000].entries()) {
    await recorder.untilState('audio', 'restarting', died + 1);
    // A further death does not change the time since which the child is restarting.
    assert.equal(recorder.now('audio')?.since, since);
    if (waitMs > 0) clock.advance(waitMs - 1);
    assert.equal(recorder.now('audio')?.restarts, died + 1);
    clock.advance(waitMs > 0 ? 1 : 0);
  }
  await recorder.untilState('audio', 'failed', 6);
  assert.match(recorder.now('audio')?.detail ?? '', THREW_AT_LOAD);
  assert.match(recorder.now('audio')?.detail ?? '', /; 6 deaths in 60 s$/);
  assert.equal(recorder.now('audio')?.since, clock.date());
  clock.advance(59_999);
  assert.equal(recorder.now('audio')?.state, 'failed');
  clock.advance(1);
  assert.equal(recorder.now('audio')?.state, 'restarting');
  // The six deaths are no longer counted, so this one is the first again.
  await recorder.untilState('audio', 'restarting', 7);
});
