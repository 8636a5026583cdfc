// The colour of the page after a cover: found where there is one, and always readable.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Colour, contrastOf, paletteOf, tintIn } from '../../src/page/tint.js';

/** 64 pixels of these colours in turn. */
const picture = (...colours: readonly (readonly number[])[]): number[] =>
  Array.from({ length: 64 }, (_, at) => [...(colours[at % colours.length] ?? []), 255]).flat();

const colour = (hex: string): Colour => {
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map(
    (at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255,
  );
  return [red, green, blue];
};

/** The quiet text, the cards, and the text on the accent are those of page.css. */
const PAGE = {
  light: { quiet: colour('5c6163'), card: colour('ffffff'), onAccent: colour('ffffff') },
  dark: { quiet: colour('a2a9ab'), card: colour('1c2021'), onAccent: colour('0b1413') },
};

describe('the tint of a cover', () => {
  test('is the hue that most of its colour has', () => {
    const tint = tintIn(picture([20, 60, 200], [20, 60, 200], [240, 200, 30]));
    assert.ok(tint !== undefined && tint.hue > 215 && tint.hue < 235, JSON.stringify(tint));
    const red = tintIn(picture([200, 10, 20]));
    assert.ok(red !== undefined && (red.hue > 350 || red.hue < 5), JSON.stringify(red));
  });

  test('does not exist for a cover in grey, nor without pixels', () => {
    assert.equal(tintIn(picture([0, 0, 0], [255, 255, 255], [128, 130, 129])), undefined);
    assert.equal(tintIn([]), undefined);
  });

  test('makes a readable ground and accent for any hue, in light and in dark', () => {
    for (const scheme of ['light', 'dark'] as const) {
      const { quiet, card, onAccent } = PAGE[scheme];
      for (let hue = 0; hue < 360; hue += 5) {
        for (const saturation of [0.05, 0.3, 0.6, 1]) {
          const { ground, accent } = paletteOf({ hue, saturation }, scheme);
          const contrasts = [
            contrastOf(quiet, ground),
            contrastOf(accent, ground),
            contrastOf(accent, card),
            contrastOf(accent, onAccent),
          ];
          assert.ok(Math.min(...contrasts) >= 4.5, `${scheme} ${hue} ${saturation}: ${contrasts.join()}`);
        }
      }
    }
  });
});
