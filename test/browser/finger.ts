// A finger on a page of Chromium, by touch events of the DevTools protocol: it scrolls, taps and drags as on
// a phone.

import type { Locator, Page } from 'playwright-core';

export type Spot = readonly [x: number, y: number];

export type Finger = Awaited<ReturnType<typeof fingerOn>>;

export async function fingerOn(page: Page) {
  const protocol = await page.context().newCDPSession(page);
  let spot: Spot = [0, 0];
  const send = (type: 'touchStart' | 'touchMove' | 'touchEnd' | 'touchCancel', ...at: readonly Spot[]) =>
    protocol.send('Input.dispatchTouchEvent', { type, touchPoints: at.map(([x, y]) => ({ x, y })) });
  const down = (at: Spot) => {
    spot = at;
    return send('touchStart', at);
  };
  const up = () => send('touchEnd');
  return {
    down,
    up,
    /** Moves in this number of steps. */
    move: async (to: Spot, steps = 8): Promise<void> => {
      const [x, y] = spot;
      for (let step = 1; step <= steps; step += 1)
        await send('touchMove', [x + ((to[0] - x) * step) / steps, y + ((to[1] - y) * step) / steps]);
      spot = to;
    },
    /** The system takes the touch away, for example for an incoming call. */
    cancel: () => send('touchCancel'),
    tap: async (at: Spot): Promise<void> => {
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
