// Colours the page after a cover.

import { cssOf, paletteOf, tintIn } from './tint.js';

/** The pixels on each side of the picture: enough for one colour, and cheap. */
const SIDE = 8;

const PROPERTIES = ['light', 'dark'].flatMap((scheme) => [`--${scheme}-tint`, `--${scheme}-accent`]);

/** Without a picture, or with a grey one, the page has its usual colours. */
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

/** The pixels may be read, because the page shows only pictures of the node itself. */
function pixelsOf(picture: HTMLImageElement): ArrayLike<number> {
  const canvas = document.createElement('canvas');
  canvas.width = SIDE;
  canvas.height = SIDE;
  const context = canvas.getContext('2d');
  context?.drawImage(picture, 0, 0, SIDE, SIDE);
  return context?.getImageData(0, 0, SIDE, SIDE).data ?? [];
}
