// Tests the page under a thumb: touch events of Chromium, 360 pixels wide. The node's received commands show
// the effect.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { Finger, type Spot, spotOn } from './finger.js';
import { ORDINARY, output, stream } from './node-with-page.js';
import { node, openPage, openTab, PHONE, page, pageForEach } from './pages.js';

const LONG = Array.from({ length: 8 }, (_, index) => [output(2 + index), stream(100 + index)]).flat();

describe('on a touch screen', { skip: lacks({ programs: ['chromium'] }) }, () => {
  let finger: Finger;
  pageForEach(PHONE);
  beforeEach(async () => {
    finger = await Finger.on(page);
    await openPage({ audio: [...ORDINARY.audio, ...LONG] });
    await openTab('Sound');
  });

  const slider = (name: string | RegExp): Locator => page.getByRole('slider', { name });
  const volume = (): Locator => slider('Volume of Living room').first();
  const scrolled = (): Promise<number> => page.evaluate('scrollY');
  /** The volumes and positions that the page has requested from the node, in order. */
  const requested = (): number[] =>
    node.backends.requests.flatMap(({ command }) => {
      if (command.do === 'volume' && 'volume' in command) return [command.volume ?? Number.NaN];
      return command.do === 'position' ? [command.position] : [];
    });

  test('a scroll that begins on a slider sets nothing, upwards or at a slant of 20 degrees', async () => {
    for (const name of ['Volume of Living room', /^Position in/]) {
      await openTab(name === 'Volume of Living room' ? 'Sound' : 'Music');
      for (const dx of [0, 73]) {
        const at = await spotOn(slider(name).first(), 0.6);
        const from = await scrolled();
        await finger.down(at);
        await finger.move([at[0] + dx, at[1] - 200], 12);
        await finger.up();
        await until('the page has scrolled', async () => (await scrolled()) > from + 50);
        assert.deepEqual(requested(), []);
        await page.evaluate('scrollTo(0, 0)');
      }
    }
    await openTab('Sound');
    assert.equal(await volume().inputValue(), '42');
  });

  test('a finger that moves sideways moves the volume, wherever it touched the slider', async () => {
    const [x, y] = await spotOn(volume(), 0.8);
    await finger.down([x, y]);
    await finger.move([x + 6, y]);
    assert.deepEqual(requested(), [], 'it may still scroll');
    await finger.move([x - 30, y]);
    await finger.up();
    await until('a volume has come', () => requested().length > 0);
    const percent = Number(await volume().inputValue());
    assert.ok(percent < 42 && percent > 15, `${percent}`);
    await until('the last value arrives', () => requested().at(-1) === percent / 100);
  });

  test('a finger that moves over two fifths of the way moves the volume by as much', async () => {
    const [x, y] = await spotOn(volume(), 0.3);
    const box = await volume().boundingBox();
    assert.ok(box);
    await finger.down([x, y]);
    await finger.move([x + (box.width - 22) * 0.4, y]);
    await finger.up();
    await until('the volume has come', () => requested().at(-1) === 0.82);
  });

  test('a cancelled touch restores the volume', async () => {
    const [x, y] = await spotOn(volume(), 0.42);
    await finger.down([x, y]);
    await finger.move([x + 60, y]);
    await until('a higher volume has come', () => requested().some((each) => each > 0.5));
    await finger.cancel();
    await until('the volume is restored', () => requested().at(-1) === 0.42);
  });

  test('a tap far up raises the volume by ten points at most at a time, and one below lowers it at once', async () => {
    await finger.tap(await spotOn(volume(), 0.95));
    await until('the volume is reached', () => (requested().at(-1) ?? 0) > 0.93);
    const values = [0.42, ...requested()];
    for (const [index, value] of values.slice(1).entries())
      assert.ok(value - (values[index] ?? 0) <= 0.1001, values.join());
    const { length } = requested();
    await finger.tap(await spotOn(volume(), 0.1));
    await until('the lower volume has come', () => requested().length > length);
    assert.ok((requested()[length] ?? 1) < 0.13, requested().join());
  });

  test('a tap on the position jumps there at once, and a drag when the finger lifts', async () => {
    await openTab('Music');
    const position = slider(/^Position in/).first();
    await finger.tap(await spotOn(position, 0.5));
    await until('the position has come', () => requested().length === 1);
    assert.ok(Math.abs((requested()[0] ?? 0) - 131_500_000) < 4_000_000, requested().join());
    const [x, y]: Spot = await spotOn(position, 0.5);
    await finger.down([x, y]);
    await finger.move([x + 60, y]);
    assert.equal(requested().length, 1);
    await finger.up();
    await until('the second position has come', () => requested().length === 2);
  });
});
