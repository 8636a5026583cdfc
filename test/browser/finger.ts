// A finger on a page of Chromium, by touch events of the DevTools protocol: it scrolls, taps and drags as on
// a phone.

import type { CDPSession, Locator, Page } from 'playwright-core';

export type Spot = readonly [x: number, y: number];

export class Finger {
  readonly #protocol: CDPSession;
  #spot: Spot = [0, 0];

  private constructor(protocol: CDPSession) {
    this.#protocol = protocol;
  }

  static async on(page: Page): Promise<Finger> {
    return new Finger(await page.context().newCDPSession(page));
  }

  async down(at: Spot): Promise<void> {
    this.#spot = at;
    await this.#send('touchStart', at);
  }

  /** Moves in this number of steps. */
  async move(to: Spot, steps = 8): Promise<void> {
    const [x, y] = this.#spot;
    for (let step = 1; step <= steps; step += 1)
      await this.#send('touchMove', [x + ((to[0] - x) * step) / steps, y + ((to[1] - y) * step) / steps]);
    this.#spot = to;
  }

  async up(): Promise<void> {
    await this.#send('touchEnd');
  }

  /** The system takes the touch away, for example for an incoming call. */
  async cancel(): Promise<void> {
    await this.#send('touchCancel');
  }

  async tap(at: Spot): Promise<void> {
    await this.down(at);
    await this.up();
  }

  async #send(
    type: 'touchStart' | 'touchMove' | 'touchEnd' | 'touchCancel',
    ...at: readonly Spot[]
  ): Promise<void> {
    const touchPoints = at.map(([x, y]) => ({ x, y }));
    await this.#protocol.send('Input.dispatchTouchEvent', { type, touchPoints });
  }
}

/** The place on the screen at `part` of the slider's way; the thumb of the slider has a width. */
export async function spotOn(slider: Locator, part: number): Promise<Spot> {
  await slider.scrollIntoViewIfNeeded();
  const box = await slider.boundingBox();
  if (box === null) throw new Error('the slider is not on the screen');
  return [box.x + 11 + (box.width - 22) * part, box.y + box.height / 2];
}
