// A bridge in a real thread under the real supervisor: it gets changes and makes requests, and its end
// disturbs nobody else.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Supervised, startChildren } from './harness.js';

/** The recorder (harness.ts) writes these reports. */
const FIRST_FEED = 'discovery requests its first feed';
const NEXT_FEED = 'discovery requests its next feed';

/**
 * Sends words to the bridge: `exit`, or names of operations that it requests. The fixture reports each reply
 * to a request as the detail of its health.
 */
function sendWords({ recorder }: Supervised, ...words: readonly string[]): void {
  recorder.send({
    isWhole: false,
    changes: [{ kind: 'put', collection: 'served', key: '', json: JSON.stringify(words) }],
  });
}

/** How often the recorder has this report. */
function countOf({ recorder }: Supervised, report: string): number {
  return recorder.sequence.filter((actual) => actual === report).length;
}

test('a bridge that dies is replaced and gets all records again, and a backend continues', async (t) => {
  const supervised = startChildren(t, { power: 'obedient', discovery: 'bridge' });
  const { recorder, ask } = supervised;
  await recorder.until(() => countOf(supervised, FIRST_FEED) === 1);
  // `who` is an unknown word for the fixture `obedient`. Its answer to unknown words is the number of its
  // thread.
  const threadBefore = await ask('power', 'who');

  sendWords(supervised, 'exit');
  await recorder.untilState('discovery', 'restarting', 1);
  assert.match(recorder.healthOf('discovery')?.detail ?? '', /^thread ended: exit code 7$/);
  await recorder.until(() => countOf(supervised, FIRST_FEED) === 2);
  assert.equal(countOf(supervised, NEXT_FEED), 0, 'the dead bridge requested no further changes');
  assert.deepEqual(await ask('power', 'who'), threadBefore);
  assert.equal(recorder.healthOf('power')?.restarts, 0);
});

test('a reply to a thread that has died is dropped', async (t) => {
  const supervised = startChildren(t, { discovery: 'bridge' });
  const { recorder } = supervised;
  await recorder.until(() => countOf(supervised, FIRST_FEED) === 1);
  let replyToDeadThread = (): void => undefined;
  recorder.childRequest = () =>
    new Promise((resolve) => {
      replyToDeadThread = () => resolve({ status: 500, body: 'reply to the dead thread' });
    });
  sendWords(supervised, 'reboot');
  // The thread requests its next feed only after it has requested the operation.
  await recorder.until(() => countOf(supervised, NEXT_FEED) === 1);
  sendWords(supervised, 'exit');
  await recorder.until(() => countOf(supervised, FIRST_FEED) === 2);

  // The first request of each thread has the same number. So if the late reply to the dead thread was not
  // dropped, the living thread would take it for the reply to its own request.
  recorder.childRequest = async () => {
    replyToDeadThread();
    return { status: 200, body: 'reply to the living thread' };
  };
  sendWords(supervised, 'reboot');
  await recorder.until(() => recorder.healths.some(([, { detail }]) => /reply to the/.test(detail ?? '')));
  assert.equal(recorder.healthOf('discovery')?.detail, '200 reply to the living thread');
});
