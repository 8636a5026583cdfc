// A bridge in a real thread under the real supervisor: it gets changes and makes requests, and its end disturbs nobody else.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QUICK_PULSE, type Stage, stage } from './harness.js';

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

test('a bridge gets its records when its thread is new, and the next ones when it has taken them', async (t) => {
  const scene = stage(t, { discovery: 'bridge' });
  await scene.witness.until(() => count(scene, FIRST) === 1);
  assert.equal(count(scene, NEXT), 0);
  for (const told of [1, 2]) {
    tell(scene);
    await scene.witness.until(() => count(scene, NEXT) === told);
  }
  assert.equal(count(scene, FIRST), 1);
});

test('a request of a bridge is answered', async (t) => {
  const scene = stage(t, { discovery: 'bridge' });
  await scene.witness.until(() => count(scene, FIRST) === 1);
  tell(scene, 'play', 'pause');
  const details = () => scene.witness.healths.map(([, { detail }]) => detail);
  await scene.witness.until(() => details().includes('200 pause {}'));
  assert.ok(details().includes('200 play {}'));
});

const DEATHS = [
  ['exit', /^thread ended: exit code 7$/],
  ['throw', /^thread ended: no such luck$/],
  ['hang', /^thread ended: hung: /],
] as const;
for (const [word, detail] of DEATHS) {
  test(`a bridge that gets ${word} is replaced and gets its records anew; a backend notices nothing`, async (t) => {
    const scene = stage(t, { power: 'obedient', discovery: 'bridge' }, { heartbeat: QUICK_PULSE });
    const { witness, say } = scene;
    await witness.until(() => count(scene, FIRST) === 1);
    const before = await say('power', 'who');
    tell(scene, word);
    await witness.untilState('discovery', 'restarting', 1);
    assert.match(witness.now('discovery')?.detail ?? '', detail);
    await witness.until(() => count(scene, FIRST) === 2);
    assert.equal(count(scene, NEXT), 0, 'it has taken in nothing');
    assert.deepEqual(await say('power', 'who'), before);
    assert.equal(witness.now('power')?.restarts, 0);
  });
}

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
