// Tests the colour that the page takes from a cover: which colour that is, and that texts stay readable.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Colour, contrastOf, paletteOf, tintIn } from '../../src/page/tint.js';

/** The bytes of 64 pixels, which have these colours in turn. */
const picture = (...colours: readonly (readonly number[])[]): number[] =>
  Array.from({ length: 64 }, (_, index) => [...(colours[index % colours.length] ?? []), 255]).flat();

const colour = (hex: string): Colour => {
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map(
    (start) => Number.parseInt(hex.slice(start, start + 2), 16) / 255,
  );
  return [red, green, blue];
};

/** The quiet text, the cards, and the text on the accent are those of page.css. */
const PAGE = {
  light: { quiet: colour('5c6163'), card: colour('ffffff'), onAccent: colour('ffffff') },
  dark: { quiet: colour('a2a9ab'), card: colour('1c2021'), onAccent: colour('0b1413') },
};

/** WCAG's least contrast of a text. */
const CONTRAST_MIN = 4.5;

describe('the tint of a cover', () => {
  test('is the hue of most of its colourful pixels', () => {
    // The hue of the blue is 227, and that of the red is 357.
    const blueHue = tintIn(picture([20, 60, 200], [20, 60, 200], [240, 200, 30]))?.hue ?? Number.NaN;
    assert.ok(blueHue > 215 && blueHue < 235, `${blueHue}`);
    const redHue = tintIn(picture([200, 10, 20]))?.hue ?? Number.NaN;
    assert.ok(redHue > 350 || redHue < 5, `${redHue}`);
  });

  test('does not exist for a grey cover, or for a cover without pixels', () => {
    assert.equal(tintIn(picture([0, 0, 0], [255, 255, 255], [128, 130, 129])), undefined);
    assert.equal(tintIn([]), undefined);
  });

  test('gives a ground and an accent with enough contrast for every hue, in light and in dark', () => {
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
          assert.ok(
            Math.min(...contrasts) >= CONTRAST_MIN,
            `${scheme} ${hue} ${saturation}: ${contrasts.join()}`,
          );
        }
      }
    }
  });
});
