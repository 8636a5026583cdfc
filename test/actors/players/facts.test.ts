// From a player's properties to records, metadata as text, and extrapolated positions.

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

const AT = { date: 1_000_000, monotonic: 500 };
const anchor = (positionUs: number | undefined): Anchor => ({ positionUs, moment: AT });
const after = (ms: number) => ({ date: AT.date + ms, monotonic: AT.monotonic + ms });

test('numbers that are not finite, or not exact, are left out', () => {
  const recordOf = (properties: Readonly<Record<string, unknown>>) => {
    const facts = withPlayerProperties(NOTHING_KNOWN, properties);
    return playerRecord('odd', facts, anchor(positionIn(properties)), { hasTracklist: false });
  };
  const odd = recordOf({ Volume: Number.NaN, Rate: Number.POSITIVE_INFINITY, Position: 2n ** 60n });
  assert.deepEqual([odd.volume, odd.rate, odd.position], [undefined, undefined, undefined]);
  assert.equal(positionIn({ Position: -1 }), 0);
  assert.equal(recordOf({ Volume: 1.333 }).volume, 1.33);
  assert.equal(recordOf({ Volume: 1e308 }).volume, undefined);
  const huge = withPlayerProperties(NOTHING_KNOWN, { Metadata: { 'mpris:length': 1e308 } });
  assert.equal(motionOf(huge).lengthUs, undefined);
});

test('metadata is text: lists are joined, other values written as they are', () => {
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
    ['__proto__']: 'own',
  });
  const lines = Object.entries(texts).map((entry) => entry.join(' '));
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
  assert.equal(JSON.parse(JSON.stringify(texts))['title'], 'a\u0000b\u001b[31m\ud800');
  assert.equal(lengthUs, undefined, 'a length of -1 is none');
  assert.deepEqual([trackId, artUrl], ['/t/1', 'file:///cover.png']);
});

test('metadata is bounded per value and per player', () => {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`k${n}`, 'v'.repeat(5_000)]));
  const { texts } = metadataOf(many);
  const units = Object.entries(texts).reduce((sum, [key, text]) => sum + key.length + text.length, 0);
  assert.ok(units <= 32 * 1024 && units > 24 * 1024, `${units} units`);
  assert.ok(Object.values(texts).every((text) => text.length === 4096));
  const short = Object.fromEntries(Object.keys(many).map((key) => [key, 'v']));
  assert.equal(Object.keys(metadataOf(short).texts).length, 64);
  assert.deepEqual(Object.keys(metadataOf({ ['k'.repeat(300)]: 'v' }).texts), []);
  const control = Object.fromEntries(Object.keys(many).map((key) => [key, '\u0001'.repeat(4096)]));
  assert.ok(JSON.stringify(metadataOf(control).texts).length <= 80 * 1024);
});

test('an invalid track id, length or cover address is left out', () => {
  const { lengthUs, artUrl, hasLongArtUrl } = metadataOf({ 'mpris:length': '7', 'mpris:artUrl': 5 });
  assert.deepEqual([lengthUs, artUrl, hasLongArtUrl], [undefined, undefined, false]);
  for (const id of ['', 'spotify:track:1', '/org/mpris/MediaPlayer2/TrackList/NoTrack', '/a//b', 5]) {
    assert.equal(metadataOf({ 'mpris:trackid': id }).trackId, undefined, String(id));
  }
  const track = (id: string, more = {}) => metadataOf({ 'mpris:trackid': id, ...more });
  assert.ok(isSameTrack(track('/1', { 'xesam:title': 'a' }), track('/1')));
  assert.ok(!isSameTrack(track('/1'), track('/2')));
  const named = (title: string, seconds: number) =>
    track('/1', { 'xesam:title': title, 'mpris:length': seconds * 1_000_000 });
  assert.ok(!isSameTrack(named('a', 180), named('b', 200)), 'a player with one id for all');
  assert.ok(isSameTrack(named('a', 180), named('a', 181)), 'a length that becomes known better');
});

/** Microseconds at the beginning, and 2 s later. */
type Reckoned = readonly [what: string, rate: number, from: number, to: number, lengthUs?: number];
const RECKONED: readonly Reckoned[] = [
  ['twice as fast', 2, 5_000_000, 9_000_000],
  ['standing still', 0, 5_000_000, 5_000_000],
  ['backwards, to the beginning', -1, 1_000_000, 0],
  ['up to the end', 1, 5_000_000, 6_000_000, 6_000_000],
  ['beyond the end, where the player itself is', 1, 9_000_000, 9_000_000, 6_000_000],
];
for (const [what, rate, from, to, lengthUs] of RECKONED) {
  test(`a position is extrapolated: ${what}`, () =>
    assert.equal(reckonPosition(anchor(from), { rate, lengthUs }, after(2_000)), to));
}

test('a clock that is set changes no position, and is noticed', () => {
  const motion = motionOf(withPlayerProperties(NOTHING_KNOWN, { PlaybackStatus: 'Playing', Rate: 1 }));
  const later = { date: AT.date + 1e12, monotonic: AT.monotonic + 1_000 };
  assert.equal(reckonPosition(anchor(0), motion, later), 1_000_000);
  assert.ok(wasDateSet(anchor(0), later) && !wasDateSet(anchor(0), after(1e9)));
  assert.deepEqual(anchorAt(anchor(0), motion, later), { positionUs: 1_000_000, moment: later });
});

test('a reading is a jump if it differs from the extrapolated position', () => {
  const motion = { rate: 1, lengthUs: undefined };
  assert.ok(!isJump(anchor(0), motion, 1_200_000, after(1_000)));
  assert.ok(isJump(anchor(0), motion, 1_600_000, after(1_000)));
  assert.ok(isJump(anchor(0), motion, undefined, after(1_000)));
  assert.ok(!isJump(anchor(undefined), motion, undefined, after(1_000)));
});

test('only valid URI schemes are kept', () => {
  const odd = ['http', 'x-a+b.c-1', '', '1a', 'a b', 'a\n', '-a', 'a'.repeat(33)];
  const { root } = withRootProperties(NOTHING_KNOWN, { SupportedUriSchemes: odd });
  assert.deepEqual(root.SupportedUriSchemes, ['http', 'x-a+b.c-1']);
});
