// One volume for several rooms (docs/guides/rooms.md): the arithmetic, and the requests to each room.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loudest, type Proportions, proportionsAt, type RoomVolume } from '../../src/page/proportion.js';
import { RoomVolumes } from '../../src/page/room-volumes.js';

const rooms = (...volumes: readonly number[]): RoomVolume[] =>
  volumes.map((volume, index) => ({ key: `room ${index}`, volume, limit: 1 }));

const setIn = (proportions: Proportions) => [...proportions.values()].map(({ lastSet }) => lastSet);

/** The rooms after they have taken the new volumes. */
function taken(before: readonly RoomVolume[], proportions: Proportions): RoomVolume[] {
  return before.map((room) => ({ ...room, volume: proportions.get(room.key)?.lastSet ?? room.volume }));
}

test('all move in the proportion that they had, through 0 and back', () => {
  const start = rooms(0.8, 0.4, 0.1);
  assert.equal(loudest(start), 0.8);
  const half = proportionsAt(start, 0.4, new Map());
  assert.deepEqual(setIn(half), [0.4, 0.2, 0.05]);
  const silent = proportionsAt(taken(start, half), 0, half);
  assert.deepEqual(setIn(silent), [0, 0, 0]);
  const back = proportionsAt(taken(start, silent), 0.8, silent);
  assert.deepEqual(setIn(back), [0.8, 0.4, 0.1]);
});

test('a room that somebody else has set meanwhile begins from there', () => {
  const start = rooms(0.8, 0.4);
  const half = proportionsAt(start, 0.4, new Map());
  const [first, second] = taken(start, half);
  assert.ok(first && second);
  const moved = proportionsAt([first, { ...second, volume: 0.8 }], 0.8, half);
  assert.deepEqual(setIn(moved), [0.8, 0.8]);
});

test('silent rooms all get the same volume, a limit holds, and a volume above 100 % comes down', () => {
  assert.deepEqual(setIn(proportionsAt(rooms(0, 0), 0.3, new Map())), [0.3, 0.3]);
  const limited = rooms(0.5, 0.5).map((room, index) => ({ ...room, limit: index === 0 ? 0.6 : 1 }));
  assert.deepEqual(setIn(proportionsAt(limited, 0.9, new Map())), [0.6, 0.9]);
  assert.deepEqual(setIn(proportionsAt(rooms(1.5, 0.75), 1, new Map())), [1, 0.5]);
});

test('each room is sent its newest volume only, and a slow one delays no other', async () => {
  const sent: string[] = [];
  let release: (() => void) | undefined;
  const slow = new Promise<void>((resolve) => {
    release = resolve;
  });
  const [first, second] = rooms(0.5, 0.5);
  assert.ok(first && second);
  const setIn = (name: string, wait: Promise<void>) => async (volume: number) => {
    sent.push(`${name} ${volume}`);
    await wait;
  };
  const both = [
    { ...first, setVolume: setIn('slow', slow) },
    { ...second, setVolume: setIn('quick', Promise.resolve()) },
  ];
  const volumes = new RoomVolumes();
  for (const volume of [0.4, 0.3, 0.2]) {
    const [, quick] = volumes.set(both, volume);
    await quick?.[1];
  }
  assert.deepEqual(sent, ['slow 0.4', 'quick 0.4', 'quick 0.3', 'quick 0.2']);
  release?.();
  await Promise.all(volumes.set(both, 0.1).map(([, done]) => done));
  assert.deepEqual(sent.slice(4).sort(), ['quick 0.1', 'slow 0.1']);
});
