// Tests that a pressed control stays in its place. If it moved, the next tap on a phone would hit another
// control. Also tests a player's buttons, title and position.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { PLAYER } from '../gateway/scripted-backends.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { Finger } from './finger.js';
import { output, player } from './node-with-page.js';
import {
  answerChecksAtOnce,
  commandsAre,
  nextCommand,
  node,
  openPage,
  openTab,
  PHONE,
  page,
  pageForEach,
} from './pages.js';

describe('buttons, titles and positions', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  pageForEach(PHONE);
  answerChecksAtOnce();

  const button = (name: string): Locator => page.getByRole('button', { name, exact: true });
  const tap = async (target: Locator): Promise<void> => {
    const box = await target.boundingBox();
    assert.ok(box);
    await (await Finger.on(page)).tap([box.x + box.width / 2, box.y + box.height / 2]);
  };

  test('a button that makes another output the default stays in its place', async () => {
    await openPage();
    await openTab('Sound');
    const outputNames = () => page.locator('.output .strong').allTextContents();
    const useKitchen = button('Use Kitchen');
    // The button must not be below the lower edge of the window.
    await useKitchen.evaluate((element) => element.scrollIntoView({ block: 'center' }));
    const top = async (): Promise<number | undefined> => (await useKitchen.boundingBox())?.y;
    const before = { names: await outputNames(), top: await top() };

    await tap(useKitchen);
    await nextCommand();
    node.change(output(0, { default: false }), output(1, { default: true, description: 'Kitchen' }));
    await page.locator('.output[data-default=true]').filter({ hasText: 'Kitchen' }).waitFor();

    assert.deepEqual(await outputNames(), before.names);
    assert.equal(await top(), before.top);
  });

  test('a button that pauses a player stays in its place, and the playing player is marked', async () => {
    const first = { identity: 'First' };
    const second = { identity: 'Second', playback_status: 'Paused' };
    await openPage({ players: [player('a', first), player('b', second)] });
    const place = await button('Pause: First').boundingBox();

    await tap(button('Pause: First'));
    await nextCommand();
    const paused = { playback_status: 'Paused' };
    const playing = { playback_status: 'Playing' };
    node.change(player('b', { ...second, ...playing }), player('a', { ...first, ...paused }));
    await page.locator('.player[data-playing=true]').filter({ hasText: 'Second' }).waitFor();

    assert.deepEqual(await button('Play: First').boundingBox(), place);
  });

  test('a button that pauses all playing players stays in its place, also if one of them can only be stopped', async () => {
    const paused = { playback_status: 'Paused' };
    const radio = player('b', {
      identity: 'Radio',
      capabilities: { ...PLAYER.capabilities, can_pause: false },
    });
    await openPage({ players: [player('a'), radio, player('c', paused)] });
    // The foot of the page must not cover the button.
    await button('Pause all').evaluate((element) => element.scrollIntoView({ block: 'center' }));
    const place = await button('Pause all').boundingBox();

    await tap(button('Pause all'));
    await commandsAre({ do: 'pause_all' });
    // The button is enabled while at least two players can be silenced (src/page/players.tsx). After this
    // change, only the radio can be silenced.
    node.change(player('a', paused));
    await button('Pause all').and(page.locator(':disabled')).waitFor();
    assert.deepEqual(await button('Pause all').boundingBox(), place);
  });

  test('the button Stop is not beside Pause, but among the rarely used buttons', async () => {
    await openPage();
    const stop = button('Stop: Music Player Daemon');
    assert.equal(await stop.isVisible(), false);
    // The unit of this player has a button with the same label, in another section.
    await page.getByLabel('More of Music Player Daemon').and(page.locator('#now *')).click();
    await stop.click();
    assert.deepEqual(await nextCommand(), { do: 'stop', player: 'org.mpris.MediaPlayer2.mpd' });
  });

  test('the capabilities of a player without a track decide which of its buttons are disabled or grey', async () => {
    const stopped = { metadata: {}, playback_status: 'Stopped', position: undefined };
    const capabilities = {
      can_play: false,
      can_pause: true,
      can_go_next: false,
      can_go_previous: false,
      can_seek: true,
      can_control: true,
    };
    await openPage({ audio: [output(0)], players: [player('mopidy', { ...stopped, capabilities })] });
    await page.locator('.player').getByText('Nothing is playing').waitFor();
    for (const name of ['Previous', 'Next']) assert.equal(await button(name).isDisabled(), true, name);
    // A grey Play still sends its command, because the player may have got tracks meanwhile.
    const isGrey = async () => (await button('Play').getAttribute('aria-disabled')) === 'true';
    assert.ok(await isGrey(), 'Play is grey');
    await button('Play').click({ force: true });
    assert.deepEqual(await nextCommand(), { do: 'play', player: 'org.mpris.MediaPlayer2.mopidy' });

    node.change(
      player('mopidy', {
        ...stopped,
        capabilities: { ...capabilities, can_play: true, can_go_next: true },
      }),
    );
    await until('Play is no longer grey', async () => !(await isGrey()));
    assert.equal(await button('Next').isEnabled(), true);
    assert.equal(await button('Previous').isEnabled(), false);
  });

  test('a long title is cut after two lines until a touch, and a long Hebrew name is cut at its end', async () => {
    const longTitle = 'A title that is far too long for two lines, '.repeat(4);
    const players = [player('mpd', { metadata: { 'xesam:title': longTitle } })];
    await openPage({ players, audio: [output(0, { description: 'מילה ארוכה '.repeat(20) })] });
    const title = page.locator('.hero .title');
    const height = async (): Promise<number> => (await title.boundingBox())?.height ?? 0;
    // A line is 30 px high (`.hero .title` in src/page/page.css).
    const twoLinesPx = await height();
    assert.ok(twoLinesPx > 40 && twoLinesPx < 70, `${twoLinesPx}`);

    await tap(title);
    await until('the title is whole', async () => (await height()) > twoLinesPx);
    await tap(title);
    await until('the title is cut again', async () => (await height()) === twoLinesPx);

    await openTab('Sound');
    await page.locator('.output .strong').first().waitFor();
    // The script measures the edges of the line, and the place of the first letter. The text is written from
    // right to left, so its beginning is visible if this letter is in the right half of the line.
    const [left, right, firstLetter] = (await page.evaluate(`(() => {
      const line = document.querySelector('.output .strong');
      const range = document.createRange();
      range.setStart(line.firstChild, 0);
      range.setEnd(line.firstChild, 1);
      const box = line.getBoundingClientRect();
      return [box.left, box.right, range.getBoundingClientRect().left];
    })()`)) as [number, number, number];
    const middle = (left + right) / 2;
    assert.ok(firstLetter > middle && firstLetter < right, `${left} ${firstLetter} ${right}`);
  });

  test('the last position is the end of the track, also if the length of the track is no whole number of seconds', async () => {
    const metadata = { 'mpris:length': '100600000', 'xesam:title': 'Nocturne' };
    await openPage({ players: [player('mpd', { metadata, playback_status: 'Paused' })] });
    // While the command has no answer, the page displays the position that the key has chosen.
    const commandAnswer = node.backends.hold();
    const slider = page.getByRole('slider', { name: /^Position in/ });
    await slider.press('End');
    const displayed = page.locator('.position .slider-text');
    // The text has the position `1:40`, and the rest of the track, `-0:00`.
    await until('the end is displayed', async () => (await displayed.textContent()) === '1:40-0:00');
    assert.equal(await slider.getAttribute('aria-valuetext'), '1:40 of 1:40');
    commandAnswer.resolve({ ok: true, value: {} });
  });

  test('a running position changes the text for screen readers only while its slider does not have the focus', async () => {
    await openPage();
    const slider = page.getByRole('slider', { name: /^Position in/ });
    const announced = (): Promise<string | null> => slider.getAttribute('aria-valuetext');
    const displayed = (): Promise<string | null> => page.locator('.position .slider-text').textContent();
    await slider.focus();
    const announcedBefore = await announced();
    const displayedBefore = await displayed();
    await until('the position runs', async () => (await displayed()) !== displayedBefore);
    assert.equal(await announced(), announcedBefore);

    await slider.blur();
    await until('a new position is announced', async () => (await announced()) !== announcedBefore);
  });
});
