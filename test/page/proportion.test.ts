// Tests one volume for several rooms (docs/guides/rooms.md): its arithmetic, and the requests to each room.

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { SETTLE_MS } from '../../src/page/control.js';
import { loudest, type Proportions, proportionsAt, type RoomVolume } from '../../src/page/proportion.js';
import { RoomVolumes } from '../../src/page/room-volumes.js';
import { Deferred } from '../deferred.js';

type RoomAnswer = 'accepted' | 'refused';

/** No proportions are known before the slider has moved. */
const NO_PREVIOUS: Proportions = new Map();

const roomsWith = (...volumes: readonly number[]): RoomVolume[] =>
  volumes.map((volume, index) => ({ key: `room ${index}`, volume, limit: 1 }));

const volumesOf = (proportions: Proportions) => [...proportions.values()].map(({ lastSet }) => lastSet);

/** The promises of the rooms. Each resolves when the room has accepted its newest volume. */
const promisesOf = (results: ReturnType<RoomVolumes['set']>) => results.map(([, accepted]) => accepted);

/** The rooms after they have taken the new volumes. */
function roomsAfter(before: readonly RoomVolume[], proportions: Proportions): RoomVolume[] {
  return before.map((room) => ({ ...room, volume: proportions.get(room.key)?.lastSet ?? room.volume }));
}

test('all rooms keep their proportion when the volume goes to 0 and back', () => {
  const start = roomsWith(0.8, 0.4, 0.1);
  assert.equal(loudest(start), 0.8);
  const half = proportionsAt(start, 0.4, NO_PREVIOUS);
  assert.deepEqual(volumesOf(half), [0.4, 0.2, 0.05]);
  const silent = proportionsAt(roomsAfter(start, half), 0, half);
  assert.deepEqual(volumesOf(silent), [0, 0, 0]);
  const back = proportionsAt(roomsAfter(start, silent), 0.8, silent);
  assert.deepEqual(volumesOf(back), [0.8, 0.4, 0.1]);
});

test('a room that somebody else has set meanwhile keeps its new proportion', () => {
  const start = roomsWith(0.8, 0.4);
  const half = proportionsAt(start, 0.4, NO_PREVIOUS);
  const [first, second] = roomsAfter(start, half);
  assert.ok(first && second);
  // The rooms keep the proportion of their bases (proportion.ts). Only the slider has moved the first room,
  // so its base is still the 0.8 of the beginning. Somebody else has set the second room to 0.8, so this is
  // its new base.
  const moved = proportionsAt([first, { ...second, volume: 0.8 }], 0.8, half);
  assert.deepEqual(volumesOf(moved), [0.8, 0.8]);
});

test('silent rooms all get the same volume, no room exceeds its limit, and rooms above 100 % come down in proportion', () => {
  assert.deepEqual(volumesOf(proportionsAt(roomsWith(0, 0), 0.3, NO_PREVIOUS)), [0.3, 0.3]);
  const limited = roomsWith(0.5, 0.5).map((room, index) => ({ ...room, limit: index === 0 ? 0.6 : 1 }));
  assert.deepEqual(volumesOf(proportionsAt(limited, 0.9, NO_PREVIOUS)), [0.6, 0.9]);
  assert.deepEqual(volumesOf(proportionsAt(roomsWith(1.5, 0.75), 1, NO_PREVIOUS)), [1, 0.5]);
});

test('a slow room gets only the newest of the volumes that waited for it, and delays no other room', async () => {
  const sent: string[] = [];
  const slowAnswer = new Deferred<void>();
  const [first, second] = roomsWith(0.5, 0.5);
  assert.ok(first && second);
  const sender = (name: string, answer: Promise<void>) => async (volume: number) => {
    sent.push(`${name} ${volume}`);
    await answer;
  };
  const rooms = [
    { ...first, setVolume: sender('slow', slowAnswer.promise) },
    { ...second, setVolume: sender('quick', Promise.resolve()) },
  ];

  const volumes = new RoomVolumes();
  for (const volume of [0.4, 0.3, 0.2]) {
    const [, quickRoomAccepts] = promisesOf(volumes.set(rooms, volume));
    await quickRoomAccepts;
  }
  assert.deepEqual(sent, ['slow 0.4', 'quick 0.4', 'quick 0.3', 'quick 0.2']);

  slowAnswer.resolve();
  await Promise.all(promisesOf(volumes.set(rooms, 0.1)));
  assert.deepEqual(sent.slice(4).sort(), ['quick 0.1', 'slow 0.1']);
});

test('a room that has refused a volume still gets the next one, by its newest `setVolume`', async () => {
  const [room] = roomsWith(0.5);
  assert.ok(room);
  const firstAnswer = new Deferred<RoomAnswer>();
  const sent: string[] = [];
  const roomWith = (output: string, answer: Promise<RoomAnswer>) => ({
    ...room,
    setVolume: async (volume: number) => {
      sent.push(`${output} ${volume}`);
      if ((await answer) === 'refused') throw new Error('refused');
    },
  });
  const volumes = new RoomVolumes();
  volumes.set([roomWith('older output', firstAnswer.promise)], 0.4);
  const newerRoom = roomWith('newer output', Promise.resolve('accepted'));
  const [accepted] = promisesOf(volumes.set([newerRoom], 0.3));
  firstAnswer.resolve('refused');
  await accepted;
  assert.deepEqual(sent, ['older output 0.4', 'newer output 0.3']);

  // Only the refusal of the newest volume rejects.
  const refusingRoom = roomWith('newer output', Promise.resolve('refused'));
  const [refused] = promisesOf(volumes.set([refusingRoom], 0.2));
  await assert.rejects(async () => refused, /refused/);
});

test('a record that comes late does not change the proportion of its room before `SETTLE_MS` is over', async (t) => {
  mock.timers.enable({ apis: ['Date'], now: 0 });
  t.after(() => mock.timers.reset());
  const volumes = new RoomVolumes();
  /**
   * Sets the loudest room to `volume`, and returns the volumes that are sent. `reported` are the volumes of
   * the rooms' records.
   */
  const set = async (volume: number, reported: readonly number[]): Promise<readonly number[]> => {
    const sent: number[] = [];
    const rooms = roomsWith(...reported).map((room) => ({
      ...room,
      setVolume: async (newVolume: number) => void sent.push(newVolume),
    }));
    await Promise.all(promisesOf(volumes.set(rooms, volume)));
    return sent;
  };

  // The proportion of the rooms is 0.8 to 0.4. In the second and third call the second room's record is one
  // volume behind.
  assert.deepEqual(await set(0.4, [0.8, 0.4]), [0.4, 0.2]);
  assert.deepEqual(await set(0.2, [0.4, 0.4]), [0.2, 0.1]);
  assert.deepEqual(await set(0.4, [0.2, 0.2]), [0.4, 0.2]);
  // The second room was never set to 0.6 here, so 0.6 is its new base. The base of the first room is still
  // 0.8, so the proportion is 0.8 to 0.6 from now on.
  assert.deepEqual(await set(0.2, [0.4, 0.6]), [0.2, 0.15], 'somebody else has set the second room just now');
  mock.timers.tick(SETTLE_MS);
  // Before `SETTLE_MS` is over, a record with 0.4 would count as one that is behind, because the second room
  // had this volume before. Now 0.4 is its new base.
  assert.deepEqual(await set(0.8, [0.2, 0.4]), [0.8, 0.4], 'somebody else has set the second room');
});
