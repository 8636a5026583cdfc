// A bridge in a real thread under the real supervisor: it gets changes and makes requests, and its end
// disturbs nobody else.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Supervised, startChildren } from './harness.js';

const FIRST = 'discovery pulls first';
const NEXT = 'discovery pulls';

/** Sends the bridge a word that the fixture knows, or the name of an operation to request. */
function send({ recorder }: Supervised, ...words: readonly string[]): void {
  recorder.send({
    isWhole: false,
    changes: [{ kind: 'put', collection: 'served', key: '', json: JSON.stringify(words) }],
  });
}

function count({ recorder }: Supervised, word: string): number {
  return recorder.sequence.filter((actual) => actual === word).length;
}

test('a bridge that dies is replaced and gets all records again, and a backend continues', async (t) => {
  const supervised = startChildren(t, { power: 'obedient', discovery: 'bridge' });
  const { recorder, ask } = supervised;
  await recorder.until(() => count(supervised, FIRST) === 1);
  const before = await ask('power', 'who');
  send(supervised, 'exit');
  await recorder.untilState('discovery', 'restarting', 1);
  assert.match(recorder.now('discovery')?.detail ?? '', /^thread ended: exit code 7$/);
  await recorder.until(() => count(supervised, FIRST) === 2);
  assert.equal(count(supervised, NEXT), 0, 'it has taken in nothing');
  assert.deepEqual(await ask('power', 'who'), before);
  assert.equal(recorder.now('power')?.restarts, 0);
});

test('a reply to a thread that has died is dropped', async (t) => {
  const supervised = startChildren(t, { discovery: 'bridge' });
  const { recorder } = supervised;
  await recorder.until(() => count(supervised, FIRST) === 1);
  let reply = (): void => undefined;
  recorder.bridgeRequest = () =>
    new Promise((resolve) => {
      reply = () => resolve({ status: 500, body: 'of the dead' });
    });
  send(supervised, 'reboot');
  await recorder.until(() => count(supervised, NEXT) === 1);
  send(supervised, 'exit');
  await recorder.until(() => count(supervised, FIRST) === 2);
  // The first request of the new thread has the same number as that of the dead thread.
  const answered = reply;
  recorder.bridgeRequest = async () => {
    answered();
    return { status: 200, body: 'of the living' };
  };
  send(supervised, 'reboot');
  await recorder.until(() => recorder.healths.some(([, { detail }]) => /of the/.test(detail ?? '')));
  assert.equal(recorder.now('discovery')?.detail, '200 of the living');
});
