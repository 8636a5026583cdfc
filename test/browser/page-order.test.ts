// Pressed controls must keep their place, and Stop must not surprise: on a phone the next tap hits whatever is under the thumb.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { fingerOn } from './finger.js';
import { type NodeWithPage, output, player } from './node-with-page.js';
import { PHONE, pageForEach } from './pages.js';

describe('a pressed button', { skip: lacks({ programs: ['chromium'] }) }, () => {
  let node: NodeWithPage;
  let page: Page;
  pageForEach(PHONE, (opened) => {
    ({ node, page } = opened);
  });

  const open = async (): Promise<void> => {
    await page.goto(node.url);
    await page.locator('#system .button').first().waitFor();
  };
  const asked = (): object | undefined =>
    node.backends.asked.map(({ command }) => command).find((command) => command.do !== 'status');
  const tap = async (what: Locator): Promise<void> => {
    const box = await what.boundingBox();
    assert.ok(box);
    await (await fingerOn(page)).tap([box.x + box.width / 2, box.y + box.height / 2]);
  };
  const names = (selector: string): Promise<string[]> => page.locator(selector).allTextContents();

  test('stays in its place when it makes another output the default', async () => {
    node.up();
    await open();
    const before = await names('.output .strong');
    const button = page.getByRole('button', { name: 'Make default: Kitchen' });
    // The button must not be below the lower edge of the window.
    await button.evaluate((element) => element.scrollIntoView({ block: 'center' }));
    const height = async (): Promise<number | undefined> => (await button.boundingBox())?.y;
    const place = await height();
    await tap(button);
    await until('the node gets the command', () => asked() !== undefined);
    node.change('audio', output(0, { default: false }));
    node.change('audio', output(1, { default: true, description: 'Kitchen' }));
    await page.locator('.output[data-default=true]').filter({ hasText: 'Kitchen' }).waitFor();
    assert.deepEqual(await names('.output .strong'), before);
    assert.equal(await height(), place);
  });

  test('stays in its place when it pauses a player, and the playing player is marked', async () => {
    const [first, second] = [{ identity: 'First' }, { identity: 'Second', playback_status: 'Paused' }];
    node.up({ players: [player('a', first), player('b', second)] });
    await open();
    const pause = page.getByRole('button', { name: 'Pause: First', exact: true });
    const place = await pause.boundingBox();
    await tap(pause);
    await until('the node gets the command', () => asked() !== undefined);
    node.change('players', player('b', { ...second, playback_status: 'Playing' }));
    node.change('players', player('a', { ...first, playback_status: 'Paused' }));
    await page.locator('.player[data-playing=true]').filter({ hasText: 'Second' }).waitFor();
    const play = page.getByRole('button', { name: 'Play: First', exact: true });
    assert.deepEqual(await play.boundingBox(), place);
  });

  test('Stop is not beside Pause, but with the rarely used buttons', async () => {
    node.up();
    await open();
    const stop = page.getByRole('button', { name: 'Stop: Music Player Daemon' });
    assert.equal(await stop.isVisible(), false);
    await page.getByLabel('More of Music Player Daemon').and(page.locator('#now *')).click();
    await stop.click();
    await until('the node gets the command', () => asked() !== undefined);
    assert.deepEqual(asked(), { do: 'stop', player: 'org.mpris.MediaPlayer2.mpd' });
  });

  test('a player without a track is shown without useless buttons', async () => {
    const none = { metadata: {}, playback_status: 'Stopped', position: undefined };
    node.up({ players: [player('mpv', { ...none, identity: 'mpv' })] });
    await open();
    await page.locator('.player').getByText('Nothing is playing').waitFor();
    for (const name of ['Previous', 'Play', 'Next'])
      assert.equal(await page.getByRole('button', { name, exact: true }).isDisabled(), true, name);
    node.change('players', player('mpv', { ...none, identity: 'VLC', tracklist_supported: true }));
    const play = page.getByRole('button', { name: 'Play', exact: true });
    await until('a player with a list can start it', () => play.isEnabled());
  });

  test('a long title takes two lines, and a touch shows all of it', async () => {
    const long = 'A title that is far too long for the two lines of a phone, '.repeat(3);
    node.up({ players: [player('mpd', { metadata: { 'xesam:title': long } })] });
    await open();
    const title = page.locator('.player .title');
    const height = async (): Promise<number> => (await title.boundingBox())?.height ?? 0;
    const two = await height();
    assert.ok(two > 40 && two < 60, `${two}`);
    await tap(title);
    await until('the title is whole', async () => (await height()) > two);
    await tap(title);
    await until('the title is cut again', async () => (await height()) === two);
  });

  test('a title that is written from right to left keeps its beginning', async () => {
    const title = `ראשון ${'מילה ארוכה '.repeat(20)}`;
    node.up({ audio: [output(0, { description: title })], players: [] });
    await open();
    // Measures the place of the title's first letter, and the edges of its line.
    const [left, right, letter] = (await page.evaluate(`(() => {
      const line = document.querySelector('.output .strong');
      const range = document.createRange();
      range.setStart(line.firstChild, 0);
      range.setEnd(line.firstChild, 1);
      const box = line.getBoundingClientRect();
      return [box.left, box.right, range.getBoundingClientRect().left];
    })()`)) as [number, number, number];
    assert.ok(letter > (left + right) / 2 && letter < right, `${left} ${letter} ${right}`);
  });

  test('a running position is announced to screen readers on focus, not each second', async () => {
    node.up();
    await open();
    const slider = page.getByRole('slider', { name: /^Position in/ });
    const told = (): Promise<string | null> => slider.getAttribute('aria-valuetext');
    await slider.focus();
    const [first, shown] = [await told(), await page.locator('.position .slider-text').textContent()];
    await until(
      'the position runs',
      async () => (await page.locator('.position .slider-text').textContent()) !== shown,
    );
    assert.equal(await told(), first);
    await slider.blur();
    await until('the position is announced again', async () => (await told()) !== first);
  });
});
