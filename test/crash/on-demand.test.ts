// A child on demand has a thread only while commands come. Each command is answered as if the child always
// had a thread.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../src/client/connect.js';
import { tonearm } from '../../src/client/routes.js';
import { scriptedNode, settle } from '../client/scripted-node.js';
import { ManualClock } from '../manual-clock.js';
import { until } from '../until.js';
import { faultOf, type Supervised, type SupervisedOptions, startChildren } from './harness.js';

const IDLE_MS = 60_000;
/** No test advances its clock so far, so no ping is ever due. */
const NEVER_MS = 1_000_000_000;
/**
 * The clock of a test is this far ahead of the real clock, which the threads use. So no thread drops
 * a command as late, however busy the machine is.
 */
const AHEAD_MS = 1_000_000_000_000;
const NO_HEARTBEAT = { everyMs: NEVER_MS, loadMs: NEVER_MS, pongWithinMs: NEVER_MS, idleBeats: 1 };
/** The detail in the health of a child that has no thread. */
const RESTING_DETAIL = 'started on demand';
const THREAD_ENDED = /^thread ended: /;

interface ChildOnDemand extends Supervised {
  readonly clock: ManualClock;
}

/** Starts the power backend, which has no thread yet, on a clock that stands still. */
function startRestingChild(
  t: Parameters<typeof startChildren>[0],
  options: SupervisedOptions = {},
): ChildOnDemand {
  const clock = new ManualClock(AHEAD_MS);
  const supervised = startChildren(
    t,
    { power: 'obedient' },
    { clock, heartbeat: NO_HEARTBEAT, onDemand: ['power'], ...options },
  );
  return { ...supervised, clock };
}

/** The fixture `obedient` does not know the word `who`, so it answers with the number of its thread. */
const askThreadNumber = ({ ask }: Supervised) => ask('power', 'who');

const isResting = ({ recorder }: Supervised) => recorder.healthOf('power')?.detail === RESTING_DETAIL;

/** Waits for the child's thread, advances the clock by the idle minute, and waits for the thread's end. */
async function idleUntilResting(supervised: ChildOnDemand): Promise<void> {
  await supervised.recorder.until(() => !isResting(supervised));
  supervised.clock.advance(IDLE_MS);
  await supervised.recorder.until(() => isResting(supervised));
}

test('a child on demand is up without a thread, and its first command starts a thread', async (t) => {
  const supervised = startRestingChild(t);
  assert.equal(isResting(supervised), true);
  assert.equal(supervised.recorder.healthOf('power')?.state, 'up');

  const [first, second] = await Promise.all([askThreadNumber(supervised), askThreadNumber(supervised)]);
  assert.equal(first.ok, true);
  assert.deepEqual(first, second, 'one thread answers both');
  assert.deepEqual(new Set(supervised.recorder.statesOf('power')), new Set(['up']));
  assert.equal(isResting(supervised), false);
});

test('a minute without a command ends the thread, and the next command starts another one', async (t) => {
  const supervised = startRestingChild(t);
  const first = await askThreadNumber(supervised);
  supervised.clock.advance(IDLE_MS - 1);
  assert.deepEqual(await askThreadNumber(supervised), first, 'each command begins the minute anew');
  supervised.clock.advance(IDLE_MS - 1);
  assert.deepEqual(await askThreadNumber(supervised), first);

  await idleUntilResting(supervised);
  const second = await askThreadNumber(supervised);
  assert.equal(second.ok, true);
  assert.notDeepEqual(second, first);
  assert.equal(supervised.recorder.healthOf('power')?.restarts, 0, 'no death is counted');
});

test('a live client lets the thread of the power backend end, and starts no other one', async (t) => {
  const supervised = startRestingChild(t);
  const node = scriptedNode();
  node.answers.set('/power/', () => askThreadNumber(supervised));
  const live = connect(tonearm('http://node', node));
  t.after(() => live.close());
  await settle();
  const [stream = assert.fail('no stream')] = node.streams;
  let sentCount = 0;
  /** Sends the client each state of the backend since the last call. */
  const sendHealths = async (): Promise<void> => {
    for (const [backend, { state, detail }] of supervised.recorder.healths.slice(sentCount)) {
      sentCount += 1;
      await stream.event(`b-${sentCount}`, 'backend.updated', { backend, state, detail });
    }
  };
  // The health changes when the thread starts and when it ends. If the client answered such a change with a
  // request for `/power/`, this request would start the thread again.
  await stream.send('event: server.info\ndata: "connected"\n\n');
  await sendHealths();
  await until('the client has the answer', () => live.state.power !== undefined);
  await sendHealths();
  await idleUntilResting(supervised);
  await sendHealths();
  assert.deepEqual(node.requests, ['/server', '/power/']);
  assert.equal(isResting(supervised), true);
});

test('a command that comes while the thread ends is answered by the next thread', async (t) => {
  const supervised = startRestingChild(t);
  const first = await askThreadNumber(supervised);
  supervised.clock.advance(IDLE_MS);
  const second = await askThreadNumber(supervised);
  assert.equal(second.ok, true);
  assert.notDeepEqual(second, first);
});

test('a thread with a command under way does not end', async (t) => {
  const supervised = startRestingChild(t, { askWithinMs: 10 * IDLE_MS });
  await askThreadNumber(supervised);
  const kept = supervised.ask('power', 'keep');

  supervised.clock.advance(IDLE_MS);
  assert.equal((await supervised.ask('power', 'release')).ok, true);
  assert.deepEqual(await kept, { ok: true, value: { text: '"kept"' } });
});

test('the thread of a child on demand is replaced when it dies, and ends when it is idle', async (t) => {
  const supervised = startRestingChild(t);
  const answer = await supervised.ask('power', 'throw');
  assert.equal(faultOf(answer), 'unavailable');

  // The restart waits for 0 ms of the clock, which stands still.
  supervised.clock.advance(0);
  const restartsMin = 1;
  await supervised.recorder.untilState('power', 'up', restartsMin);
  const details = supervised.recorder.healths.map(([, { detail }]) => detail ?? '');
  assert.match(details.join('\n'), /thread ended/);

  await idleUntilResting(supervised);
  assert.equal((await askThreadNumber(supervised)).ok, true);
});

test('the command that starts a thread gets a fault when the thread dies at its start', async (t) => {
  const supervised = startChildren(t, { power: 'throws-at-start' }, { onDemand: ['power'] });
  const answer = await askThreadNumber(supervised);
  assert.equal(faultOf(answer), 'unavailable');
  assert.match(supervised.recorder.healthOf('power')?.detail ?? '', THREAD_ENDED);
});

test('a child on demand stops cleanly with a thread and without one', async (t) => {
  const resting = startRestingChild(t);
  await resting.supervisor.stop();
  assert.deepEqual(await askThreadNumber(resting), {
    ok: false,
    error: { fault: 'unavailable', detail: 'The power backend is stopped' },
  });

  const awake = startRestingChild(t);
  await askThreadNumber(awake);
  await awake.supervisor.stop();
  // The fixture `obedient` logs this line when it stops.
  assert.ok(awake.recorder.lines.some(({ message }) => message === 'stops as told'));
});
