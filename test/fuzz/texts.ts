// JSON of any shape, and texts with damage anywhere.

import type { SeededRandom } from '../seeded-random.js';

const TEXTS = [
  ...['', '\0', '☕', '\ud800', 'x'.repeat(5000)],
  ...'x living __proto__ play start ../.. 1'.split(' '),
];
const KEYS = [
  ...'event volume delta muted output default balance port position offset loop shuffle state'.split(' '),
  ...'origin total percent current step success latest upgrade_available checked_at'.split(' '),
  ...['__proto__', 'constructor', 'toString', ''],
];
const NUMBERS = [
  ...'0 -0 1 0.5 -1 00 1. NaN 1e999 1e-999 9007199254740993'.split(' '),
  '123456789012345678901234567890',
];
/** Pieces that have a meaning in JSON, or do not belong there. */
const PIECES = [...'"{},:\\\n\r\0', '\\u0000', ...'0-e\u00e9\ufeff', 'x'.repeat(70_000)];

/** Mostly well-formed. */
export function anyJson(random: SeededRandom, depth = 0): string {
  const some = (one: () => string): string => Array.from({ length: random.below(5) }, one).join(',');
  const kinds = [
    () => random.pick(NUMBERS),
    () => JSON.stringify(random.pick(TEXTS)),
    () => random.pick(['true', 'false', 'null']),
    () => (depth > 4 ? '[]' : `[${some(() => anyJson(random, depth + 1))}]`),
    () =>
      depth > 4
        ? '{}'
        : `{${some(() => `${JSON.stringify(random.pick(KEYS))}:${anyJson(random, depth + 1)}`)}}`,
    () => '['.repeat(random.below(3000)),
  ];
  return random.pick(kinds)();
}

/** One to three damages, of characters that mean something. */
export function damagedText(text: string, random: SeededRandom): string {
  let damaged = text;
  for (let left = random.below(3); left >= 0; left -= 1) {
    const at = random.below(damaged.length + 1);
    const piece = random.pick(PIECES);
    const end = random.chance(0.5) ? at : at + random.below(8);
    damaged = random.chance(0.1) ? damaged.slice(0, at) : damaged.slice(0, at) + piece + damaged.slice(end);
  }
  return damaged;
}
