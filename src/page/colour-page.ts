// Gives the page the colours of a cover. Without a cover, or with a grey one, the page has its usual colours.

import { cssOf, paletteOf, tintIn } from './tint.js';

/** A canvas of this width and height has enough pixels for the tint of a cover (tint.ts). */
const SIDE_PX = 8;

/**
 * The properties of page.css that a cover changes. The two `tint` properties have the colour of the ground
 * (`Palette` in tint.ts).
 */
const PROPERTIES = ['--light-tint', '--light-accent', '--dark-tint', '--dark-accent'];

export function colourPage(picture: HTMLImageElement | undefined): void {
  const { style } = document.documentElement;
  const tint = picture && tintIn(pixelsOf(picture));
  for (const name of PROPERTIES) style.removeProperty(name);
  if (tint === undefined) return;
  for (const scheme of ['light', 'dark'] as const) {
    const { ground, accent } = paletteOf(tint, scheme);
    style.setProperty(`--${scheme}-tint`, cssOf(ground));
    style.setProperty(`--${scheme}-accent`, cssOf(accent));
  }
}

/**
 * Red, green, blue and alpha of each pixel, 0..255. The browser lets the page read them, because covers come
 * from the page's own node.
 */
function pixelsOf(picture: HTMLImageElement): ArrayLike<number> {
  const canvas = document.createElement('canvas');
  canvas.width = SIDE_PX;
  canvas.height = SIDE_PX;
  const context = canvas.getContext('2d');
  context?.drawImage(picture, 0, 0, SIDE_PX, SIDE_PX);
  return context?.getImageData(0, 0, SIDE_PX, SIDE_PX).data ?? [];
}
