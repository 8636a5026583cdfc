// A finger on a page of Chromium, by touch events of the DevTools protocol: it scrolls, taps and drags as on a phone.

import type { Locator, Page } from 'playwright-core';

export type Spot = readonly [x: number, y: number];

export interface Finger {
  down(at: Spot): Promise<void>;
  /** Moves in this number of steps. */
  move(to: Spot, steps?: number): Promise<void>;
  up(): Promise<void>;
  /** The system takes the touch away, for example for an incoming call. */
  cancel(): Promise<void>;
  tap(at: Spot): Promise<void>;
}

export async function fingerOn(page: Page): Promise<Finger> {
  const protocol = await page.context().newCDPSession(page);
  let spot: Spot = [0, 0];
  const send = (type: 'touchStart' | 'touchMove' | 'touchEnd' | 'touchCancel', at?: Spot) =>
    protocol.send('Input.dispatchTouchEvent', {
      type,
      touchPoints: at === undefined ? [] : [{ x: at[0], y: at[1] }],
    });
  const down = async (at: Spot): Promise<void> => {
    spot = at;
    await send('touchStart', at);
  };
  const up = async (): Promise<void> => {
    await send('touchEnd');
  };
  return {
    down,
    up,
    move: async (to, steps = 8) => {
      const [x, y] = spot;
      for (let step = 1; step <= steps; step += 1)
        await send('touchMove', [x + ((to[0] - x) * step) / steps, y + ((to[1] - y) * step) / steps]);
      spot = to;
    },
    cancel: async () => {
      await send('touchCancel');
    },
    tap: async (at) => {
      await down(at);
      await up();
    },
  };
}

/** The place on the screen at `part` of the slider's way; the thumb of the slider has a width. */
export async function spotOn(slider: Locator, part: number): Promise<Spot> {
  await slider.scrollIntoViewIfNeeded();
  const box = await slider.boundingBox();
  if (box === null) throw new Error('the slider is not on the screen');
  return [box.x + 11 + (box.width - 22) * part, box.y + box.height / 2];
}
