// Colours the page after the displayed cover, or as usual where there is none, and keeps the cover.

import { useEffect, useState } from 'preact/hooks';
import { Part, usePart } from './late.js';

const PICTURES = new Part(() => import('./pictures.js'));

/** Call the returned function with each cover once it has loaded, and with undefined where there is none. */
export function useTint(): (picture: HTMLImageElement | undefined) => void {
  const [picture, setPicture] = useState<HTMLImageElement>();
  usePart(PICTURES, picture !== undefined);
  const { loaded } = PICTURES;
  const address = picture?.src;
  useEffect(() => {
    loaded?.colourPage(picture);
    if (picture !== undefined) loaded?.keepCover(picture);
  }, [loaded, picture, address]);
  return setPicture;
}
