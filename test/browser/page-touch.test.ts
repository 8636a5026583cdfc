// Tests the sliders of the page under a finger, by touch events of a Chromium that is 360 pixels wide. The
// commands that the node receives show the effect.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { Finger, type Spot, spotOn, THUMB_PX } from './finger.js';
import { ORDINARY, output, stream } from './node-with-page.js';
import { node, openPage, openTab, PHONE, page, pageForEach } from './pages.js';

/** Makes the page higher than the screen. */
const MANY = Array.from({ length: 8 }, (_, index) => [output(2 + index), stream(100 + index)]).flat();

describe('on a touch screen', { skip: lacks({ programs: ['chromium'] }) }, () => {
  let finger: Finger;
  pageForEach(PHONE);
  beforeEach(async () => {
    finger = await Finger.on(page);
    await openPage({ audio: [...ORDINARY.audio, ...MANY] });
    await openTab('Sound');
  });

  const slider = (name: string | RegExp): Locator => page.getByRole('slider', { name });
  const volume = (): Locator => slider('Volume of Living room').first();
  const scrolledPx = (): Promise<number> => page.evaluate('scrollY');
  /** The volumes and positions that the page has sent, in order. */
  const sentValues = (): number[] =>
    node.backends.requests.flatMap(({ command }) => {
      if (command.do === 'volume' && 'volume' in command) return [command.volume ?? Number.NaN];
      return command.do === 'position' ? [command.position] : [];
    });

  test('a scroll that begins on a slider sets nothing, straight up or at an angle of 20 degrees', async () => {
    for (const [tab, name] of [
      ['Sound', 'Volume of Living room'],
      ['Music', /^Position in/],
    ] as const) {
      await openTab(tab);
      for (const sidewaysPx of [0, 73]) {
        const [x, y] = await spotOn(slider(name).first(), 0.6);
        const before = await scrolledPx();
        await finger.down([x, y]);
        await finger.move([x + sidewaysPx, y - 200], 12);
        await finger.up();
        await until('the page has scrolled', async () => (await scrolledPx()) > before + 50);
        assert.deepEqual(sentValues(), []);
        await page.evaluate('scrollTo(0, 0)');
      }
    }
    await openTab('Sound');
    assert.equal(await volume().inputValue(), '42');
  });

  test('a finger that moves sideways changes the volume, wherever on the slider it began', async () => {
    const [x, y] = await spotOn(volume(), 0.8);
    await finger.down([x, y]);
    await finger.move([x + 6, y]);
    assert.deepEqual(sentValues(), [], 'a finger that has hardly moved may still scroll');
    await finger.move([x - 30, y]);
    await finger.up();
    await until('a volume has come', () => sentValues().length > 0);
    const percent = Number(await volume().inputValue());
    assert.ok(percent < 42 && percent > 15, `${percent}`);
    await until('the last value arrives', () => sentValues().at(-1) === percent / 100);
  });

  test('a finger that moves over 40 % of a slider changes the volume by 40 %', async () => {
    const [x, y] = await spotOn(volume(), 0.3);
    const box = await volume().boundingBox();
    assert.ok(box);
    await finger.down([x, y]);
    await finger.move([x + (box.width - THUMB_PX) * 0.4, y]);
    await finger.up();
    await until('the volume has come', () => sentValues().at(-1) === 0.82);
  });

  test('a cancelled touch restores the volume', async () => {
    const [x, y] = await spotOn(volume(), 0.42);
    await finger.down([x, y]);
    await finger.move([x + 60, y]);
    await until('a higher volume has come', () => sentValues().some((value) => value > 0.5));
    await finger.cancel();
    await until('the volume is restored', () => sentValues().at(-1) === 0.42);
  });

  test('a tap far right raises the volume by at most 10 % at a time, and a tap far left lowers it at once', async () => {
    await finger.tap(await spotOn(volume(), 0.95));
    await until('the volume is reached', () => (sentValues().at(-1) ?? 0) > 0.93);
    const volumes = [0.42, ...sentValues()];
    for (const [index, value] of volumes.slice(1).entries()) {
      const before = volumes[index] ?? 0;
      assert.ok(value - before <= 0.1001, volumes.join());
    }

    const { length: sentBefore } = sentValues();
    await finger.tap(await spotOn(volume(), 0.1));
    await until('the lower volume has come', () => sentValues().length > sentBefore);
    assert.ok((sentValues()[sentBefore] ?? 1) < 0.13, sentValues().join());
  });

  test('a tap on the position sends it at once, and a drag sends it when the finger lifts', async () => {
    await openTab('Music');
    const position = slider(/^Position in/).first();
    await finger.tap(await spotOn(position, 0.5));
    await until('the position has come', () => sentValues().length === 1);
    const [positionMicros = 0] = sentValues();
    const middleMicros = 131_500_000;
    assert.ok(Math.abs(positionMicros - middleMicros) < 4_000_000, `${positionMicros}`);

    const [x, y]: Spot = await spotOn(position, 0.5);
    await finger.down([x, y]);
    await finger.move([x + 60, y]);
    assert.equal(sentValues().length, 1);
    await finger.up();
    await until('the second position has come', () => sentValues().length === 2);
  });
});
