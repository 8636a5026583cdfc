// Tests how a finger moves the sliders of the page, in a Chromium that is 360 pixels wide. The commands that
// the node receives show the effect.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { Finger, type Spot, spotOn, THUMB_PX } from './finger.js';
import { ORDINARY, output, player, stream } from './node-with-page.js';
import { answerChecksAtOnce, node, openPage, openTab, PHONE, page, pageForEach } from './pages.js';

/** With these records the page is higher than the screen. */
const FURTHER_AUDIO = Array.from({ length: 8 }, (_, index) => [
  output(2 + index),
  stream(100 + index),
]).flat();

/** The volume of the living room in `ORDINARY`. */
const START_VOLUME = 0.42;
/** If a finger moves this far sideways and 200 px up, its angle to the vertical is 20 degrees. */
const SIDEWAYS_AT_20_DEGREES_PX = 73;

/** Asserts that no volume is more than 10 % above the volume before it. */
function assertSmallRises(volumes: readonly number[]): void {
  for (const [index, volume] of volumes.slice(1).entries()) {
    const before = volumes[index] ?? 0;
    assert.ok(volume - before <= 0.1001, volumes.join());
  }
}

describe('on a touch screen', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  let finger: Finger;
  pageForEach(PHONE);
  answerChecksAtOnce();
  beforeEach(async () => {
    finger = await Finger.on(page);
    await openPage({ audio: [...ORDINARY.audio, ...FURTHER_AUDIO] });
    await openTab('Sound');
  });

  const slider = (name: string | RegExp): Locator => page.getByRole('slider', { name });
  const volumeSlider = (): Locator => slider('Volume of Living room').first();
  const scrolledPx = (): Promise<number> => page.evaluate('scrollY');
  /** The volumes and positions that the page has sent, in order. */
  const sentValues = (): number[] =>
    node.backends.requests.flatMap(({ command }) => {
      if (command.do === 'volume' && 'volume' in command) return [command.volume ?? Number.NaN];
      return command.do === 'position' ? [command.position] : [];
    });

  test('a scroll that begins on a slider sets nothing, whether it goes straight up or at an angle of 20 degrees', async () => {
    for (const [tab, name] of [
      ['Sound', 'Volume of Living room'],
      ['Music', /^Position in/],
    ] as const) {
      await openTab(tab);
      for (const sidewaysPx of [0, SIDEWAYS_AT_20_DEGREES_PX]) {
        const [x, y] = await spotOn(slider(name).first(), 0.6);
        const before = await scrolledPx();
        await finger.down([x, y]);
        await finger.move([x + sidewaysPx, y - 200], 12);
        await finger.up();
        await until('the page has scrolled', async () => (await scrolledPx()) > before + 50);
        await page.evaluate('scrollTo(0, 0)');
      }
    }
    await openTab('Sound');
    assert.equal(await volumeSlider().inputValue(), '42');
    // The scrolls have sent nothing, so the only value is that of the key.
    await volumeSlider().press('Home');
    await until('the volume has come', () => sentValues().includes(0));
    assert.deepEqual(sentValues(), [0]);
  });

  test('a finger that moves sideways changes the volume, even if it comes down far from the thumb', async () => {
    const [x, y] = await spotOn(volumeSlider(), 0.8);
    await finger.down([x, y]);
    await finger.move([x + 6, y]);
    await finger.move([x - 30, y]);
    await finger.up();
    // The page displays a value only in its next frame. So the test reads the displayed volume and the sent
    // volume until they agree.
    await until('the displayed volume is the sent volume', async () => {
      const percent = Number(await volumeSlider().inputValue());
      return percent < 42 && sentValues().at(-1) === percent / 100;
    });
    // The finger has moved only a little, so the volume is not far below `START_VOLUME`.
    assert.ok((sentValues().at(-1) ?? 0) > 0.15, sentValues().join());
    // The first movement, 6 px to the right, has sent nothing, because a scroll may begin like this.
    assert.ok((sentValues()[0] ?? 1) < START_VOLUME, sentValues().join());
  });

  test('a finger that moves along 40 % of a slider changes the volume by 40 %', async () => {
    const [x, y] = await spotOn(volumeSlider(), 0.3);
    const box = await volumeSlider().boundingBox();
    assert.ok(box);
    await finger.down([x, y]);
    await finger.move([x + (box.width - THUMB_PX) * 0.4, y]);
    await finger.up();
    await until('the volume has come', () => sentValues().at(-1) === 0.82);
  });

  test('a cancelled touch restores the volume', async () => {
    const [x, y] = await spotOn(volumeSlider(), START_VOLUME);
    await finger.down([x, y]);
    await finger.move([x + 60, y]);
    await until('a higher volume has come', () => sentValues().some((value) => value > 0.5));
    await finger.cancel();
    await until('the volume is restored', () => sentValues().at(-1) === START_VOLUME);
  });

  test('a tap far right raises the volume in steps of at most 10 %, and a tap far left lowers it in one step', async () => {
    await finger.tap(await spotOn(volumeSlider(), 0.95));
    await until('the volume is near the place of the tap', () => (sentValues().at(-1) ?? 0) > 0.93);
    assertSmallRises([START_VOLUME, ...sentValues()]);

    const sentBefore = sentValues().length;
    await finger.tap(await spotOn(volumeSlider(), 0.1));
    await until('the lower volume has come', () => sentValues().length > sentBefore);
    const firstAfterTap = sentValues()[sentBefore] ?? 1;
    assert.ok(firstAfterTap < 0.13, sentValues().join());
  });

  test('a tap far right raises the volume in steps of at most 10 %, even if the node answers slowly', async () => {
    node.backends.answerMs = 300;
    await finger.tap(await spotOn(volumeSlider(), 0.95));
    await until('the volume is near the place of the tap', () => (sentValues().at(-1) ?? 0) > 0.93);
    assertSmallRises([START_VOLUME, ...sentValues()]);
  });

  test('a tap far right raises the volume no further after the node has refused a step', async () => {
    node.backends.answerMs = 300;
    node.backends.answer = { ok: false, error: { fault: 'refused', detail: 'not now' } };
    await finger.tap(await spotOn(volumeSlider(), 0.95));
    await page.getByText('not now').waitFor({ state: 'attached' });
    node.backends.answer = { ok: true, value: {} };
    await finger.tap(await spotOn(volumeSlider(), 0.1));
    await until('the lower volume has come', () => (sentValues().at(-1) ?? 1) < 0.13);
    // The page has sent one refused step, and the volume of the tap far left.
    assert.equal(sentValues().length, 2, sentValues().join());
  });

  test('a tap on the slider of the position sends a position at once, and a drag sends one when the finger lifts', async () => {
    await openTab('Music');
    const positionSlider = slider(/^Position in/).first();
    await finger.tap(await spotOn(positionSlider, 0.5));
    await until('the position has come', () => sentValues().length === 1);
    const [positionMicros = 0] = sentValues();
    // The track of `player` is 263 s long (node-with-page.ts).
    const middleMicros = 263_000_000 / 2;
    assert.ok(Math.abs(positionMicros - middleMicros) < 4_000_000, `${positionMicros}`);

    const [x, y]: Spot = await spotOn(positionSlider, 0.5);
    await finger.down([x, y]);
    await finger.move([x + 60, y]);
    assert.equal(sentValues().length, 1);
    await finger.up();
    await until('the second position has come', () => sentValues().length === 2);
  });

  for (const [cause, act] of [
    ['the system cancels the drag', () => finger.cancel()],
    [
      'another track begins during the drag',
      async () => {
        node.change(player('mpd', { metadata: { 'xesam:title': 'Next', 'mpris:length': '200000000' } }));
        await slider('Position in Next').waitFor();
        await finger.up();
      },
    ],
  ] as const)
    test(`a drag on the position sends no position if ${cause}`, async () => {
      await openTab('Music');
      const positionSlider = slider(/^Position in/).first();
      const [x, y] = await spotOn(positionSlider, 0.6);
      await finger.down([x, y]);
      await finger.move([x + 60, y]);
      await act();
      await finger.tap(await spotOn(positionSlider, 0.1));
      await until('the position of the tap has come', () => sentValues().length > 0);
      // The tap is at a tenth of the track, which is 263 s or 200 s long. The drag was in the second half.
      assert.ok((sentValues()[0] ?? Number.NaN) < 40_000_000, sentValues().join());
    });

  test('if another track begins during a drag, the slider shows the position in the new track after the drag', async () => {
    await openTab('Music');
    const [x, y] = await spotOn(slider(/^Position in/).first(), 0.6);
    await finger.down([x, y]);
    await finger.move([x + 60, y]);
    const metadata = { 'xesam:title': 'Next', 'mpris:length': '200000000' };
    node.change(player('mpd', { metadata, position: 10_000_000, playback_status: 'Paused' }));
    await slider('Position in Next').waitFor();
    // Without `undefined` at the end of the script, `evaluate` would wait for the promise.
    await page.evaluate(`
      const text = document.querySelector('.position .slider-text');
      globalThis.textAfterDrag = new Promise((resolve) => {
        new MutationObserver(() => resolve(text.textContent)).observe(text, { subtree: true, childList: true, characterData: true });
      });
      undefined;
    `);
    await finger.up();
    // The new track is at 10 s, and is 200 s long. The text has this position and the remaining time.
    assert.equal(await page.evaluate('textAfterDrag'), '0:10-3:10');
  });
});
