// Tests how a player's properties become its record, how metadata becomes texts, and how positions are
// reckoned.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  motionOf,
  NOTHING_KNOWN,
  playerRecord,
  positionIn,
  withPlayerProperties,
  withRootProperties,
} from '../../../src/actors/players/facts.js';
import { isSameTrack, metadataOf } from '../../../src/actors/players/metadata.js';
import {
  type Anchor,
  anchorAt,
  isJump,
  reckonPosition,
  wasDateSet,
} from '../../../src/actors/players/reckoning.js';

const START = { date: 1_000_000, monotonic: 500 };
const anchorOf = (positionUs: number | undefined): Anchor => ({ positionUs, moment: START });
const momentAfter = (ms: number) => ({ date: START.date + ms, monotonic: START.monotonic + ms });

test('a record omits numbers that are infinite, invalid or too large, rounds the volume, and has no negative position', () => {
  const recordOf = (properties: Readonly<Record<string, unknown>>) => {
    const facts = withPlayerProperties(NOTHING_KNOWN, properties);
    return playerRecord('odd', facts, anchorOf(positionIn(properties)), { hasTracklist: false });
  };

  const odd = recordOf({ Volume: Number.NaN, Rate: Number.POSITIVE_INFINITY, Position: 2n ** 60n });
  assert.deepEqual([odd.volume, odd.rate, odd.position], [undefined, undefined, undefined]);
  assert.equal(positionIn({ Position: -1 }), 0);
  assert.equal(recordOf({ Volume: 1.333 }).volume, 1.33);
  // No number of this size has exact hundredths.
  const huge = 1e308;
  assert.equal(recordOf({ Volume: huge }).volume, undefined);
  const hugeLength = withPlayerProperties(NOTHING_KNOWN, { Metadata: { 'mpris:length': huge } });
  assert.equal(motionOf(hugeLength).lengthUs, undefined);
});

test('values of metadata become texts: lists are joined, objects become JSON, and bytes and empty lists are left out', () => {
  const { texts, lengthUs, trackId, artUrl } = metadataOf({
    'xesam:artist': ['A', 'B'],
    'mpris:length': -1,
    'mpris:trackid': '/t/1',
    'mpris:artUrl': 'file:///cover.png',
    'xesam:autoRating': 0.5,
    'xesam:useCount': 3n,
    odd: { a: [1n] },
    bytes: new Uint8Array(4),
    empty: [],
    title: 'a\u0000b\u001b[31m\ud800',
    // Without the brackets, `__proto__` would set the prototype of the object.
    ['__proto__']: 'own',
  });
  const lines = Object.entries(texts).map(([key, text]) => `${key} ${text}`);
  assert.deepEqual(lines, [
    '__proto__ own',
    'mpris:artUrl file:///cover.png',
    'mpris:length -1',
    'mpris:trackid /t/1',
    'odd {"a":["1"]}',
    'title a\u0000b\u001b[31m\ud800',
    'xesam:artist A, B',
    'xesam:autoRating 0.5',
    'xesam:useCount 3',
  ]);
  const { title } = JSON.parse(JSON.stringify(texts));
  assert.equal(title, 'a\u0000b\u001b[31m\ud800', 'JSON keeps control characters and a lone surrogate');
  assert.equal(lengthUs, undefined, 'a length of -1 is no length');
  assert.deepEqual([trackId, artUrl], ['/t/1', 'file:///cover.png']);
});

// These are the bounds of metadata.ts, under the same names.
const VALUE_MAX_UNITS = 4096;
const ENTRIES_MAX = 64;
const TEXTS_MAX_UNITS = 32 * 1024;
const TEXTS_MAX_BYTES = 80 * 1024;

test('metadata has bounds for each key and value, for the number of entries, and for all entries together', () => {
  const keys = Array.from({ length: 500 }, (_, index) => `k${index}`);
  const withValue = (value: string) => Object.fromEntries(keys.map((key) => [key, value]));

  const { texts } = metadataOf(withValue('v'.repeat(5_000)));
  const units = Object.entries(texts).flat().join('').length;
  // Fewer units are left than a value has, so there is no room for one more entry.
  const unitsLeft = TEXTS_MAX_UNITS - units;
  assert.ok(unitsLeft >= 0 && unitsLeft < VALUE_MAX_UNITS, `${unitsLeft} units are left`);
  assert.ok(Object.values(texts).every((text) => text.length === VALUE_MAX_UNITS));

  assert.equal(Object.keys(metadataOf(withValue('v')).texts).length, ENTRIES_MAX);
  // A key has at most 256 units (`KEY_MAX_UNITS` in metadata.ts).
  const tooLongKey = 'k'.repeat(300);
  assert.deepEqual(Object.keys(metadataOf({ [tooLongKey]: 'v' }).texts), []);

  const escapedTexts = metadataOf(withValue('\u0001'.repeat(VALUE_MAX_UNITS))).texts;
  assert.ok(JSON.stringify(escapedTexts).length <= TEXTS_MAX_BYTES, 'control characters are longer in JSON');
});

test('an invalid track id, length or cover address is left out', () => {
  const { lengthUs, artUrl, hasLongArtUrl } = metadataOf({ 'mpris:length': '7', 'mpris:artUrl': 5 });
  assert.deepEqual([lengthUs, artUrl, hasLongArtUrl], [undefined, undefined, false]);
  for (const id of ['', 'spotify:track:1', '/org/mpris/MediaPlayer2/TrackList/NoTrack', '/a//b', 5]) {
    assert.equal(metadataOf({ 'mpris:trackid': id }).trackId, undefined, String(id));
  }
});

test('metadata is of another track if the id differs, or if both title and length differ', () => {
  const track = (id: string, more = {}) => metadataOf({ 'mpris:trackid': id, ...more });
  assert.ok(isSameTrack(track('/1', { 'xesam:title': 'a' }), track('/1')), 'only the title differs');
  assert.ok(!isSameTrack(track('/1'), track('/2')), 'the id differs');
  const named = (title: string, seconds: number) =>
    track('/1', { 'xesam:title': title, 'mpris:length': seconds * 1_000_000 });
  assert.ok(
    !isSameTrack(named('a', 180), named('b', 200)),
    'another track, although the player has one id for all tracks',
  );
  assert.ok(
    isSameTrack(named('a', 180), named('a', 181)),
    'the same track, whose length is known better now',
  );
});

interface ReckonedPosition {
  readonly what: string;
  readonly rate: number;
  readonly fromUs: number;
  /** The position 2 s later. */
  readonly toUs: number;
  readonly lengthUs?: number;
}
const RECKONED_POSITIONS: readonly ReckonedPosition[] = [
  { what: 'twice as fast', rate: 2, fromUs: 5_000_000, toUs: 9_000_000 },
  { what: 'standing still', rate: 0, fromUs: 5_000_000, toUs: 5_000_000 },
  { what: 'backwards, but only to the beginning', rate: -1, fromUs: 1_000_000, toUs: 0 },
  { what: 'only up to the end', rate: 1, fromUs: 5_000_000, toUs: 6_000_000, lengthUs: 6_000_000 },
  {
    what: 'no further, if the player has reported a position beyond the end',
    rate: 1,
    fromUs: 9_000_000,
    toUs: 9_000_000,
    lengthUs: 6_000_000,
  },
];
for (const { what, rate, fromUs, toUs, lengthUs } of RECKONED_POSITIONS) {
  test(`a position is reckoned: ${what}`, () =>
    assert.equal(reckonPosition(anchorOf(fromUs), { rate, lengthUs }, momentAfter(2_000)), toUs));
}

test('a jump of the date changes no position, and is noticed', () => {
  const motion = motionOf(withPlayerProperties(NOTHING_KNOWN, { PlaybackStatus: 'Playing', Rate: 1 }));
  const afterJump = { date: START.date + 1e12, monotonic: START.monotonic + 1_000 };
  assert.equal(reckonPosition(anchorOf(0), motion, afterJump), 1_000_000);
  assert.ok(wasDateSet(anchorOf(0), afterJump), 'the date has moved further than the monotonic clock');
  assert.ok(!wasDateSet(anchorOf(0), momentAfter(1e9)), 'the date has moved as far as the monotonic clock');
  // The new anchor has the new date, and leads to the same positions.
  assert.deepEqual(anchorAt(anchorOf(0), motion, afterJump), { positionUs: 1_000_000, moment: afterJump });
});

test('a reading is a jump if its position differs by more than half a second from the reckoned one, or if the player has no position any more', () => {
  const motion = { rate: 1, lengthUs: undefined };
  /** `readUs` is read 1 s after `fromUs`. */
  const isJumpFrom = (fromUs: number | undefined, readUs: number | undefined): boolean =>
    isJump(anchorOf(fromUs), motion, readUs, momentAfter(1_000));
  assert.ok(!isJumpFrom(0, 1_200_000), 'a difference of 0.2 s');
  assert.ok(isJumpFrom(0, 1_600_000), 'a difference of 0.6 s');
  assert.ok(isJumpFrom(0, undefined), 'no position any more');
  assert.ok(!isJumpFrom(undefined, undefined), 'never a position');
});

test('only valid URI schemes are kept', () => {
  const schemes = ['http', 'x-a+b.c-1', '', '1a', 'a b', 'a\n', '-a', 'a'.repeat(33)];
  const { root } = withRootProperties(NOTHING_KNOWN, { SupportedUriSchemes: schemes });
  assert.deepEqual(root.SupportedUriSchemes, ['http', 'x-a+b.c-1']);
});
