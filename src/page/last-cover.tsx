// Keeps the last cover of this tab, even when the page is loaded again. The cover is stored as text, and
// drawn on a canvas, because the page's policy lets an `<img>` load pictures only from nodes.

import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './icons.js';

/** The key in the tab's storage. */
const STORAGE_KEY = 'tonearm-cover';
/** Width and height: enough for a pale picture, and 30 kB of text. */
const SIDE_PX = 320;
const TYPE = 'image/jpeg';

/** Stores the middle square of the picture. */
export function keepCover(picture: HTMLImageElement): void {
  const { naturalWidth: width, naturalHeight: height } = picture;
  const side = Math.min(width, height);
  const canvas = document.createElement('canvas');
  canvas.width = SIDE_PX;
  canvas.height = SIDE_PX;
  const context = canvas.getContext('2d');
  const left = (width - side) / 2;
  const top = (height - side) / 2;
  context?.drawImage(picture, left, top, side, side, 0, 0, SIDE_PX, SIDE_PX);
  try {
    sessionStorage.setItem(STORAGE_KEY, canvas.toDataURL(TYPE));
  } catch {
    // Where the browser stores nothing, `LastCover` draws a note.
  }
}

/** The last cover; the icon of a note if there is none. */
export function LastCover() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [isDrawn, setDrawn] = useState(false);
  useEffect(() => {
    storedCover().then(
      (picture) => {
        canvas.current?.getContext('2d')?.drawImage(picture, 0, 0);
        setDrawn(true);
      },
      () => undefined,
    );
  }, []);
  return (
    <>
      <canvas ref={canvas} class="past" width={SIDE_PX} height={SIDE_PX} hidden={!isDrawn} />
      {isDrawn ? null : <Icon name="note" />}
    </>
  );
}

/** Rejects if no cover is stored, or the browser has no storage. */
async function storedCover(): Promise<ImageBitmap> {
  const [, data = ''] = (sessionStorage.getItem(STORAGE_KEY) ?? '').split(',');
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  return createImageBitmap(new Blob([bytes], { type: TYPE }));
}
