// A bridge in a real thread under the real supervisor: it gets changes and makes requests, and its end disturbs nobody else.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Stage, stage } from './harness.js';

const FIRST = 'discovery pulls first';
const NEXT = 'discovery pulls';

/** Tells the bridge a word of the fixture's, or an operation to ask for. */
function tell({ supervisor }: Stage, ...words: readonly string[]): void {
  supervisor.sendChanges('discovery', {
    isWhole: false,
    changes: [{ kind: 'put', collection: 'served', key: '', json: JSON.stringify(words) }],
  });
}

function count({ witness }: Stage, word: string): number {
  return witness.story.filter((said) => said === word).length;
}

test('a bridge that dies is replaced and gets its records anew; a backend notices nothing', async (t) => {
  const scene = stage(t, { power: 'obedient', discovery: 'bridge' });
  const { witness, say } = scene;
  await witness.until(() => count(scene, FIRST) === 1);
  const before = await say('power', 'who');
  tell(scene, 'exit');
  await witness.untilState('discovery', 'restarting', 1);
  assert.match(witness.now('discovery')?.detail ?? '', /^thread ended: exit code 7$/);
  await witness.until(() => count(scene, FIRST) === 2);
  assert.equal(count(scene, NEXT), 0, 'it has taken in nothing');
  assert.deepEqual(await say('power', 'who'), before);
  assert.equal(witness.now('power')?.restarts, 0);
});

test('a reply to a thread that has died is dropped', async (t) => {
  const scene = stage(t, { discovery: 'bridge' });
  const { witness } = scene;
  await witness.until(() => count(scene, FIRST) === 1);
  let reply = (): void => undefined;
  witness.asked = () =>
    new Promise((resolve) => {
      reply = () => resolve({ status: 500, body: 'of the dead' });
    });
  tell(scene, 'reboot');
  await witness.until(() => count(scene, NEXT) === 1);
  tell(scene, 'exit');
  await witness.until(() => count(scene, FIRST) === 2);
  // The new thread's first question has the number of the dead one's.
  const answered = reply;
  witness.asked = async () => {
    answered();
    return { status: 200, body: 'of the living' };
  };
  tell(scene, 'reboot');
  await witness.until(() => witness.healths.some(([, { detail }]) => /of the/.test(detail ?? '')));
  assert.equal(witness.now('discovery')?.detail, '200 of the living');
});
