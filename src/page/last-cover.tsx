// The last cover of this tab, which a reload does not take away. It is stored as text, and drawn by this
// file: the policy of the page lets it load pictures from nodes only.

import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './icons.js';

const STORED = 'tonearm-cover';
/** In pixels; enough for what is pale, and 30 kB of text. */
const SIDE = 320;
const TYPE = 'image/jpeg';

export function keepCover(picture: HTMLImageElement): void {
  const { naturalWidth: width, naturalHeight: height } = picture;
  const side = Math.min(width, height);
  const canvas = document.createElement('canvas');
  canvas.width = SIDE;
  canvas.height = SIDE;
  const context = canvas.getContext('2d');
  context?.drawImage(picture, (width - side) / 2, (height - side) / 2, side, side, 0, 0, SIDE, SIDE);
  try {
    sessionStorage.setItem(STORED, canvas.toDataURL(TYPE));
  } catch {
    // A browser that stores nothing shows a note.
  }
}

/** A note where there is none. */
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
      <canvas ref={canvas} class="past" width={SIDE} height={SIDE} hidden={!isDrawn} />
      {isDrawn ? null : <Icon name="note" />}
    </>
  );
}

/** Rejects where there is none. */
async function storedCover(): Promise<ImageBitmap> {
  const [, data = ''] = (sessionStorage.getItem(STORED) ?? '').split(',');
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  return createImageBitmap(new Blob([bytes], { type: TYPE }));
}
