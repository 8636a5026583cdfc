// Gives the page the colours of the large player's cover, and keeps the cover for later.

import { useEffect, useState } from 'preact/hooks';
import { LatePart, usePart } from './late.js';

const PICTURES = new LatePart(() => import('./pictures.js'));

/** The returned function takes each loaded cover, and undefined for a track without a cover. */
export function useTint(): (picture: HTMLImageElement | undefined) => void {
  const [picture, setPicture] = useState<HTMLImageElement>();
  usePart(PICTURES, picture !== undefined);
  const { loaded } = PICTURES;
  // The same element can load another cover. Then only its address is new.
  const address = picture?.src;
  useEffect(() => {
    loaded?.colourPage(picture);
    if (picture !== undefined) loaded?.keepCover(picture);
  }, [loaded, picture, address]);
  return setPicture;
}
