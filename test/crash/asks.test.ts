// Commands to children: each is answered once, in time and in order. deaths.test.ts tests the commands to a
// child that dies. The audio backend, which reads the meters, is notified whether anybody watches them. The
// fixture `obedient` does not know the word `who`, so it answers with the number of its thread.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { childrenUp, faultOf, makeSupervisor, startChildren } from './harness.js';

/** At most this many commands may wait for one child. */
const WAITING_MAX = 256;

test('a command that fails with an exception is an internal fault, and its thread continues', async (t) => {
  const { ask, recorder } = await childrenUp(t, { audio: 'obedient' });
  const threadBefore = await ask('audio', 'who');

  const answer = await ask('audio', 'fail');
  const detail = 'The command ended in an unexpected error';
  assert.deepEqual(answer, { ok: false, error: { fault: 'internal', detail } });

  // The error that `fail` throws has the text `a secret path`. It is in the log, but not in the answer.
  const loggedStacks = () => recorder.lines.map(({ fields }) => fields['stack']).join();
  await recorder.until(() => loggedStacks().includes('a secret path'));
  assert.deepEqual(await ask('audio', 'who'), threadBefore);
});

test('a command without an answer at the deadline is a time-out, and its late answer is dropped', async (t) => {
  const { ask } = await childrenUp(t, { audio: 'obedient' }, { askWithinMs: 100 });
  assert.deepEqual(await ask('audio', 'keep'), {
    ok: false,
    error: { fault: 'timeout', detail: 'The audio backend gave no answer within 0.1 s' },
  });

  // The fixture's `release` below answers this newest `keep`, whose deadline has passed by then.
  assert.equal((await ask('audio', 'keep')).ok, false);
  // On a busy machine `release` itself may take longer than the deadline of 0.1 s, so it is repeated. The
  // answer to `release` is the number of the thread.
  let released = await ask('audio', 'release');
  while (!released.ok) released = await ask('audio', 'release');
  assert.notEqual(released.value.text, '"kept"', 'the late answer of `keep` has arrived');
});

test('a command that a stalled thread takes up after the deadline is not carried out', async (t) => {
  const { ask, recorder } = await childrenUp(t, { audio: 'obedient' }, { askWithinMs: 100 });
  const stalled = ask('audio', 'stall');
  const late = ask('audio', 'publish');
  assert.equal(faultOf(await stalled), 'timeout');
  assert.equal(faultOf(await late), 'timeout');

  // The thread takes up its commands in order, so an answer shows that it has taken up `publish`.
  let answer = await ask('audio', 'who');
  while (!answer.ok) answer = await ask('audio', 'who');
  // `publish` puts this record, among others.
  assert.ok(!recorder.sequence.includes('put power.action'), recorder.sequence.join());
});

test('a backend that is not enabled or not started is unavailable', async (t) => {
  const unavailable = {
    ok: false,
    error: { fault: 'unavailable', detail: 'The power backend is not running' },
  };
  const withoutPower = startChildren(t, { audio: 'obedient' });
  assert.deepEqual(await withoutPower.ask('power', 'who'), unavailable);
  const notStarted = makeSupervisor({ power: 'obedient' });
  assert.deepEqual(await notStarted.ask('power', 'who'), unavailable);
});

test('no more than 256 commands wait for one child, and the bound is per child', async (t) => {
  const { ask } = await childrenUp(t, { audio: 'obedient', power: 'obedient' });
  let settled = 0;
  const waiting = Array.from({ length: WAITING_MAX }, () =>
    ask('audio', 'wait').finally(() => (settled += 1)),
  );

  const refused = await ask('audio', 'wait');
  assert.equal(faultOf(refused), 'unavailable');
  assert.equal(settled, 0, 'a waiting command has been answered');
  assert.equal((await ask('power', 'who')).ok, true);
  // The stop of the supervisor, at the end of the test, answers the waiting commands.
  t.after(() => Promise.all(waiting));
});

test('a command that cannot be sent does not count as one of the 256 that may wait', async (t) => {
  const { ask } = await childrenUp(t, { audio: 'obedient' });
  const unsendable = (() => undefined) as unknown as string;
  for (let attempts = 0; attempts < WAITING_MAX; attempts += 1)
    await assert.rejects(ask('audio', unsendable), { name: 'DataCloneError' });

  assert.equal((await ask('audio', 'who')).ok, true);
});

test('changes and states arrive in the order in which they were published, and before the answer to their command', async (t) => {
  const { ask, recorder } = await childrenUp(t, { audio: 'obedient' });
  recorder.sequence.length = 0;
  recorder.lines.length = 0;

  await ask('audio', 'publish');

  // The fixture publishes these in this order (`publish` in fixtures/obedient.ts). It publishes `connecting`
  // three times: twice with one reason, and then with another. The supervisor reports each reason once.
  assert.equal(
    recorder.sequence.join(),
    'put 1,drop 2,connecting,connecting,put 3,put power.action,up,put 4',
  );
  const lastConnecting = recorder.healths.findLast(([, { state }]) => state === 'connecting');
  assert.equal(lastConnecting?.[1].detail, 'the sound server refuses us');
  assert.deepEqual(
    recorder.lines.map(({ level, message, fields }) => [level, message, fields['detail']]),
    [
      ['warn', 'backend is connecting', 'the sound server is away'],
      ['warn', 'backend is connecting', 'the sound server refuses us'],
      ['info', 'backend is up', undefined],
    ],
    'each reason is logged once',
  );
});

test('the audio thread is notified of listeners to its meters when it starts, when one comes, and when none is left', async (t) => {
  const { supervisor, recorder, ask } = makeSupervisor({ audio: 'obedient', power: 'obedient' });
  t.after(() => supervisor.stop());
  // The fixture logs a line for each notification.
  const levelLines = () => recorder.lines.filter(({ message }) => message.startsWith('levels'));
  const untilLevelLines = (count: number) => recorder.until(() => levelLines().length === count);

  // This request comes before the thread exists.
  supervisor.watchLevels(true);
  supervisor.start(recorder);
  await untilLevelLines(1);

  supervisor.watchLevels(true);
  await untilLevelLines(2);

  await ask('audio', 'exit');
  await recorder.untilState('audio', 'up', 1);
  await untilLevelLines(3);

  supervisor.watchLevels(false);
  await untilLevelLines(4);

  await ask('audio', 'exit');
  await recorder.untilState('audio', 'up', 2);
  // If a thread logged one line too many, this line would come before the thread's answer to `who`.
  await ask('audio', 'who');
  await ask('power', 'who');

  // The lines come at the start of the first thread, with another listener, at the start of the second
  // thread, and when nobody listens any more. The third thread starts without listeners, and has no line.
  const actual = levelLines().map(({ message, fields }) => `${fields['backend']} ${message}`);
  assert.deepEqual(actual, [
    'audio levels true',
    'audio levels true',
    'audio levels true',
    'audio levels false',
  ]);
});
