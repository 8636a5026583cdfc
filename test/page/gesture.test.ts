// The meaning of a finger's or mouse's moves on a slider: a scroll, a drag, a tap; and the steps of a tap.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Grip, gripAt, move, type Point, partOf, stepsTo } from '../../src/page/gesture.js';

const WAY = { left: 100, length: 200 };

/** The meaning after each move. */
function meant(isSure: boolean, ...spots: readonly Point[]): readonly unknown[] {
  let grip: Grip = gripAt({ x: 200, y: 50 }, 0.2, isSure);
  return spots.map((spot) => {
    const next = move(grip, spot);
    if (next === 'scrolls') return next;
    grip = next;
    return partOf(grip, WAY, spot.x);
  });
}

test('a mouse sets the value at its position', () => {
  assert.deepEqual(meant(true, { x: 200, y: 50 }, { x: 300, y: 90 }, { x: 900, y: 0 }), [0.5, 1, 1]);
});

test('a finger sets nothing until it has moved sideways, and then moves the value along', () => {
  const spots = [
    { x: 207, y: 50 },
    { x: 210, y: 53 },
    { x: 230, y: 53 },
    { x: 110, y: 200 },
  ];
  assert.deepEqual(meant(false, ...spots), [undefined, 0.2, 0.30000000000000004, 0]);
});

test('a finger that first moves up or down scrolls', () => {
  assert.deepEqual(meant(false, { x: 203, y: 41 }), ['scrolls']);
  assert.deepEqual(meant(false, { x: 209, y: 70 }), ['scrolls']);
});

test('a tap lowers the volume at once, and raises it by a tenth at most', () => {
  assert.deepEqual(stepsTo(0.9, 0.1, 1), [0.1]);
  assert.deepEqual(stepsTo(0.2, 0.3, 1), [0.3]);
  assert.deepEqual(stepsTo(0, 1, 1).length, 10);
  assert.deepEqual(stepsTo(0.25, 0.5, 1), [0.35, 0.45, 0.5]);
});
