// Gives the page the colours of its large cover, and keeps the cover for times when nothing plays.

import { useCallback, useEffect, useState } from 'preact/hooks';
import { LatePart, usePart } from './late.js';

const PICTURES = new LatePart(() => import('./pictures.js'));

/** The returned function takes each loaded cover, and undefined for a track without a cover. */
export function useTint(): (picture: HTMLImageElement | undefined) => void {
  // Each load makes a new object, so that the effect also runs when the same element loads another cover.
  const [cover, setCover] = useState<{ readonly picture: HTMLImageElement }>();
  usePart(PICTURES, cover !== undefined);
  const { loaded } = PICTURES;
  useEffect(() => {
    loaded?.colourPage(cover?.picture);
    if (cover !== undefined) loaded?.keepCover(cover.picture);
  }, [loaded, cover]);
  return useCallback((picture) => setCover(picture && { picture }), []);
}
