// Keeps the last cover in the storage of the browser's tab, and draws it. The cover stays there when the page
// is loaded again.

import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './icons.js';

/** The key in the tab's storage. */
const STORAGE_KEY = 'tonearm-cover';
/**
 * The width and height of the stored picture. A small picture is enough, because it is drawn pale. Its data
 * URL in the tab's storage has about 30 kB.
 */
const SIDE_PX = 320;
const PICTURE_TYPE = 'image/jpeg';

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
    sessionStorage.setItem(STORAGE_KEY, canvas.toDataURL(PICTURE_TYPE));
  } catch {
    // If the browser stores nothing, `LastCover` draws an icon.
  }
}

/**
 * Draws the last cover, or an icon if there is none. The page's Content-Security-Policy lets an `<img>` load
 * pictures only from nodes, and refuses data URLs. So the cover is drawn on a canvas.
 */
export function LastCover() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [isDrawn, setDrawn] = useState(false);
  useEffect(() => {
    storedCover().then(
      (picture) => {
        canvas.current?.getContext('2d')?.drawImage(picture, 0, 0);
        setDrawn(true);
      },
      // Without a stored cover, the icon stays.
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

/**
 * Rejects if the browser has no storage. It also rejects if no cover is stored, because `createImageBitmap`
 * refuses an empty picture. The page's policy forbids `fetch` for a data URL, so the base64 is decoded here.
 */
async function storedCover(): Promise<ImageBitmap> {
  const dataUrl = sessionStorage.getItem(STORAGE_KEY) ?? '';
  const [, base64 = ''] = dataUrl.split(',');
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  return createImageBitmap(new Blob([bytes], { type: PICTURE_TYPE }));
}
