// A finger that scrolls, taps and drags on a page of Chromium, as on a phone. It sends touch events by the
// DevTools protocol.

import type { CDPSession, Locator, Page } from 'playwright-core';

export type Spot = readonly [x: number, y: number];

/** The width of a slider's thumb, as in page.css. */
export const THUMB_PX = 22;

export class Finger {
  readonly #protocol: CDPSession;
  #spot: Spot = [0, 0];

  private constructor(protocol: CDPSession) {
    this.#protocol = protocol;
  }

  static async on(page: Page): Promise<Finger> {
    return new Finger(await page.context().newCDPSession(page));
  }

  async down(spot: Spot): Promise<void> {
    this.#spot = spot;
    await this.#send('touchStart', spot);
  }

  /** Moves the finger in `steps` steps of equal length. */
  async move(to: Spot, steps = 8): Promise<void> {
    const [x, y] = this.#spot;
    for (let step = 1; step <= steps; step += 1)
      await this.#send('touchMove', [x + ((to[0] - x) * step) / steps, y + ((to[1] - y) * step) / steps]);
    this.#spot = to;
  }

  async up(): Promise<void> {
    await this.#send('touchEnd');
  }

  /** Cancels the touch, as a phone's system does for example at an incoming call. */
  async cancel(): Promise<void> {
    await this.#send('touchCancel');
  }

  async tap(spot: Spot): Promise<void> {
    await this.down(spot);
    await this.up();
  }

  async #send(
    type: 'touchStart' | 'touchMove' | 'touchEnd' | 'touchCancel',
    ...spots: readonly Spot[]
  ): Promise<void> {
    const touchPoints = spots.map(([x, y]) => ({ x, y }));
    await this.#protocol.send('Input.dispatchTouchEvent', { type, touchPoints });
  }
}

/** The middle of the slider's thumb when the thumb is at this fraction of its way: 0 is left, 1 is right. */
export async function spotOn(slider: Locator, fraction: number): Promise<Spot> {
  await slider.scrollIntoViewIfNeeded();
  const box = await slider.boundingBox();
  if (box === null) throw new Error('the slider is not on the screen');
  return [box.x + THUMB_PX / 2 + (box.width - THUMB_PX) * fraction, box.y + box.height / 2];
}
