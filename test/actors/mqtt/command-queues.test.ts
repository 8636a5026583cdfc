// Tests waiting commands: their order, which of them count, and their limit.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandQueues, type WaitingRequest } from '../../../src/actors/mqtt/command-queues.js';

function ask(name: string, supersedes?: string, queue = 'q'): WaitingRequest {
  const request = { operation: 'play', params: { player: name } } as const;
  return { topic: 't', request, queue, ...(supersedes !== undefined && { supersedes }) };
}

const nameOf = ({ request }: WaitingRequest): string => request.params?.['player'] ?? assert.fail();

/** Each command ends when the test calls `finish`. */
function held() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const take = commandQueues((each) => {
    begun.push(nameOf(each));
    return new Promise((resolve) => ends.push(resolve));
  });
  /** Ends `count` commands, one after the other. */
  const finish = async (count = 1): Promise<void> => {
    for (let ended = 0; ended < count; ended += 1) {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { take, begun, finish };
}

test('a waiting setting gives way to a newer one, which goes to the end; deltas and toggles all count', async () => {
  const { take, begun, finish } = held();
  const settings = [ask('under way', 'v'), ask('v1', 'v')];
  const told = [...settings, ask('delta'), ask('d', 'default'), ask('v2', 'v'), ask('delta')];
  for (const each of told) assert.ok(take(each));
  await finish(told.length);
  assert.deepEqual(begun, ['under way', 'delta', 'd', 'v2', 'delta']);
});

test('a bounded number of queues runs, the others wait, and a waiting setting gives way to a newer one', async () => {
  const { take, begun, finish } = held();
  const scene = Array.from({ length: 40 }, (_, i) => ask(`unit ${i}`, `run ${i}`, `unit ${i}`));
  for (const each of scene) assert.ok(take(each));
  assert.equal(begun.length, 16);
  assert.ok(take(ask('unit 39 again', 'run 39', 'unit 39')));
  await finish(scene.length);
  assert.deepEqual(begun, [...scene.slice(0, 39).map(nameOf), 'unit 39 again']);
  assert.ok(take(ask('once more', 'run', 'unit 0')));
  assert.equal(begun.at(-1), 'once more');
});

test('a flood with a queue for each command is refused beyond the bound', () => {
  const { take, begun } = held();
  const taken = Array.from({ length: 10_000 }, (_, i) => take(ask('x', `run ${i}`, `queue ${i}`)));
  assert.equal(taken.filter(Boolean).length, 16 + 256);
  assert.equal(begun.length, 16);
});

test('the bound of waiting commands is the same after a flood', async () => {
  const { take, finish } = held();
  for (let round = 0; round < 3; round += 1) {
    const settings = Array.from({ length: 100 }, () => take(ask('v', 'v')));
    assert.ok(settings.every(Boolean));
    const taken = Array.from({ length: 300 }, () => take(ask('delta')));
    // One command is under way, and one setting waits.
    assert.equal(taken.filter(Boolean).length, 255);
    await finish(257);
  }
});
