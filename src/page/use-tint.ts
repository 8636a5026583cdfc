// Colours the page after the displayed cover, or as usual where there is none.

import { useEffect, useState } from 'preact/hooks';
import { cssOf, paletteOf, tintIn } from './tint.js';

/** The pixels on each side of the picture: enough for one colour, and cheap. */
const SIDE = 8;

const PROPERTIES = ['light', 'dark'].flatMap((scheme) => [`--${scheme}-tint`, `--${scheme}-accent`]);

/** Call the returned function with each cover once it has loaded, and with undefined where there is none. */
export function useTint(): (picture: HTMLImageElement | undefined) => void {
  const [picture, setPicture] = useState<HTMLImageElement>();
  const address = picture?.src;
  useEffect(() => {
    const { style } = document.documentElement;
    const tint = picture && tintIn(pixelsOf(picture));
    for (const name of PROPERTIES) style.removeProperty(name);
    if (tint === undefined) return;
    for (const scheme of ['light', 'dark'] as const) {
      const { ground, accent } = paletteOf(tint, scheme);
      style.setProperty(`--${scheme}-tint`, cssOf(ground));
      style.setProperty(`--${scheme}-accent`, cssOf(accent));
    }
  }, [picture, address]);
  return setPicture;
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
