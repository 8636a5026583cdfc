// Gives the page the colours of its large cover, and keeps the cover for times when nothing plays.

import { useCallback, useEffect, useState } from 'preact/hooks';
import { LatePart, usePart } from './late.js';

const PICTURES = new LatePart(() => import('./pictures.js'));

/** Call the returned function with each loaded cover, and with undefined when a cover is no longer drawn. */
export function useTint(): (picture: HTMLImageElement | undefined) => void {
  // Each cover gets a new object, so that the effect also runs when the same element loads another cover.
  const [cover, setCover] = useState<{ readonly picture: HTMLImageElement }>();
  usePart(PICTURES, cover !== undefined);
  const { loaded: pictures } = PICTURES;
  useEffect(() => {
    pictures?.colourPage(cover?.picture);
    if (cover !== undefined) pictures?.keepCover(cover.picture);
  }, [pictures, cover]);
  return useCallback((picture) => setCover(picture && { picture }), []);
}
