// Tests the page as a remote control in the pocket, on the wall and in another page: one volume at hand, the
// player in large, and parts.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { put } from '../gateway/scripted-backends.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { Finger, spotOn } from './finger.js';
import { NodeWithPage, output, player, service, stream } from './node-with-page.js';
import {
  commands,
  commandsAre,
  DESK,
  nextCommand,
  node,
  openTab,
  PHONE,
  page,
  pageForEach,
} from './pages.js';

/** The player sounds in the kitchen, and another output is the default. */
const IN_THE_KITCHEN = [
  output(0),
  output(1, { description: 'Kitchen', volume: 0.3 }),
  stream(10, { output: 'output-1', props: { 'application.process.id': '4711' } }),
];

/** The page sees the same when another tab is in front. */
const HIDE = `Object.defineProperty(document, 'hidden', { value: true, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'))`;
const SHOW = `delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))`;

const units = (count: number) =>
  Array.from({ length: count }, (_, index) => service(`unit-${index}.service`));

describe('the remote', { skip: lacks({ programs: ['chromium'] }) }, () => {
  pageForEach(PHONE);

  const open = async (more: Parameters<NodeWithPage['up']>[0] = {}, query = ''): Promise<void> => {
    node.up({ audio: IN_THE_KITCHEN, ...more });
    await page.goto(node.url + query);
    await page.locator('#now').waitFor();
    node.backends.requests.length = 0;
  };
  /** The height of all of the page on such a screen. */
  const heightAt = async (width: number, height: number): Promise<number> => {
    await page.setViewportSize({ width, height });
    return page.evaluate('document.documentElement.scrollHeight');
  };
  const kitchen = { kind: 'output', ref: '1' };

  test('a level is shown and measured while the page is visible, and none is shown while it is unknown', async () => {
    await open();
    await openTab('Sound');
    const isMeasured = (isWatched: boolean): Promise<unknown> =>
      until(`measured: ${isWatched}`, () => node.backends.watched.at(-1) === isWatched);
    const meter = page.getByRole('meter', { name: 'Level of Living room' });
    const level = (): Promise<number> => meter.evaluate((each: { value: number }) => each.value);
    await until('the level is shown', async () => {
      // A node sends ten a second; one that comes before the meter is drawn is not kept.
      node.gateway.listener.level(JSON.stringify({ outputs: [{ id: 0, peak: [0.5, 0.25] }] }));
      return (await level()) === 0.5;
    });
    await page.evaluate(HIDE);
    await isMeasured(false);
    await page.evaluate(SHOW);
    await isMeasured(true);
    await node.close();
    await until('the level is gone', async () => (await level()) === 0);
  });

  test('a level is drawn by its meter alone, and not with the whole page', async () => {
    // A player that plays has the page drawn each second.
    await open({ players: [] });
    await openTab('Sound');
    const meter = page.getByRole('meter', { name: 'Level of Living room' });
    await meter.waitFor({ state: 'attached' });
    // The page sets one timer for each drawing (src/page/drawing.ts).
    await page.evaluate(`{
      const original = window.setTimeout;
      window.drawings = 0;
      window.setTimeout = (callback, ...others) => {
        if (/this\\.drawNow\\(\\)/.test(String(callback))) window.drawings += 1;
        return original(callback, ...others);
      };
    }`);
    for (let step = 1; step <= 9; step += 1)
      await until('the level is shown', async () => {
        const inputs = [{ id: 9, peak: [step / 10] }];
        node.gateway.listener.level(JSON.stringify({ outputs: [{ id: 0, peak: [step / 10] }], inputs }));
        return (await meter.evaluate((each: { value: number }) => each.value)) === step / 10;
      });
    const drawings = (await page.evaluate('window.drawings')) as number;
    assert.ok(drawings < 9, `nine levels have drawn the page ${drawings} times`);
    node.change(output(0, { default: true, volume: 0.33 }));
    await until('a volume draws the page', async () => (await page.evaluate('window.drawings')) !== 0);
  });

  test('an output has its label, its slider ends at its limit, and a hidden output is not shown', async () => {
    const label = { label: 'Radio', volume_limit: 0.5, volume: 0.45 };
    await open({ audio: [output(0), output(1, label), output(2, { description: 'HDMI', hidden: true })] });
    await openTab('Sound');
    const cards = page.locator('.output');
    await cards.getByText('Radio', { exact: true }).waitFor();
    assert.equal(await cards.count(), 2);
    const slider = cards.getByRole('slider', { name: 'Volume of Radio' });
    await slider.focus();
    for (let times = 0; times < 9; times += 1) await page.keyboard.press('ArrowRight');
    await until('the node gets the limit', () =>
      commands().some((each) => 'volume' in each && each.volume === 0.5),
    );
    assert.equal(await slider.getAttribute('aria-valuetext'), '50%');
    assert.ok(commands().every((each) => !('volume' in each) || Number(each.volume) <= 0.5));
  });

  test("a phone has one volume, of the output that plays, and the player's own under More; a desk has it with the player", async () => {
    await open();
    const silent = { do: 'volume', target: kitchen, volume: 0 };
    await page.locator('.foot').getByText('Kitchen', { exact: true }).waitFor();
    await page.getByRole('slider', { name: /^Volume/ }).press('Home');
    await commandsAre(silent);
    const card = page.locator('.player');
    await page.setViewportSize(DESK.viewport);
    await card.getByRole('slider', { name: 'Volume on Kitchen' }).press('Home');
    await commandsAre(silent);
    await page.setViewportSize(PHONE.viewport);
    const own = card.getByRole('slider', { name: 'Volume of Music Player Daemon' });
    assert.equal(await own.isVisible(), false);
    await card.getByLabel('More of').click();
    await own.waitFor();
  });

  test("the foot of a phone's page keeps play, title and volume in place while the page scrolls", async () => {
    await open({ systemd: units(20) });
    await openTab('Node');
    const foot = page.locator('.foot');
    // The small player comes a moment after the large one has left the screen.
    await foot.getByText('Nocturne in E-flat major').waitFor();
    const place = await foot.boundingBox();
    await page.evaluate('scrollTo(0, 1200)');
    assert.deepEqual(await foot.boundingBox(), place);
    assert.equal(place && place.y + place.height, 740);
    const finger = await Finger.on(page);
    const slider = foot.getByRole('slider', { name: 'Volume on Kitchen' });
    await finger.tap(await spotOn(slider, 0.1));
    await nextCommand();
    await foot.getByRole('button', { name: 'Louder' }).tap();
    await foot.getByRole('button', { name: 'Louder' }).tap();
    await foot.getByRole('button', { name: /^Pause: / }).tap();
    const louder = { do: 'delta', target: kitchen, delta: 0.05 };
    await commandsAre(louder, louder, { do: 'pause', player: 'org.mpris.MediaPlayer2.mpd' });
  });

  test("a button, an arrow key and a notch of the wheel move a volume by the node's step", async (t) => {
    const own = new NodeWithPage({ ui: { enabled: true, volumeStep: 2 } }).up({ audio: IN_THE_KITCHEN });
    t.after(() => own.close());
    await page.goto(own.url);
    const foot = page.locator('.foot');
    const slider = foot.getByRole('slider', { name: 'Volume on Kitchen' });
    const received = (): object[] =>
      own.backends.requests.flatMap(({ command }) => (command.do === 'status' ? [] : [command]));
    const next = async (expected: object, act: () => Promise<unknown>): Promise<void> => {
      own.backends.requests.length = 0;
      await act();
      await until(JSON.stringify(expected), () => isDeepStrictEqual(received(), [expected]));
    };
    /** The node has the volume from then on: the page gives up one that the node does not take over. */
    const nextVolume = async (volume: number, act: () => Promise<unknown>): Promise<void> => {
      await next({ do: 'volume', target: kitchen, volume }, act);
      own.change(output(1, { description: 'Kitchen', volume }));
    };
    await foot.getByRole('button', { name: 'Quieter' }).waitFor();
    await next({ do: 'delta', target: kitchen, delta: -0.02 }, () =>
      foot.getByRole('button', { name: 'Quieter' }).tap(),
    );
    await nextVolume(0.32, () => slider.press('ArrowUp'));
    await nextVolume(0.3, () => slider.press('ArrowLeft'));
    await nextVolume(1, () => slider.press('End'));
    await nextVolume(0.98, () => slider.press('ArrowDown'));
    await slider.hover();
    await nextVolume(1, () => page.mouse.wheel(0, -60));
  });

  test('the moon ends the music after some minutes or with the track, and shows when', async () => {
    const audio = [...IN_THE_KITCHEN, put('audio.sleep', '', { active: false })];
    const beganMs = Date.now();
    await open({ audio, players: [player('mpd')] });
    await page.locator('.hero').getByRole('button', { name: 'Sleep' }).tap();
    const sheet = page.getByRole('dialog');
    await sheet.getByRole('button', { name: '30 min' }).tap();
    await commandsAre({ do: 'sleep', minutes: 30 });
    await sheet.getByRole('button', { name: 'End of the track' }).tap();
    const { minutes } = (await nextCommand()) as { readonly minutes: number };
    // The track of 263 s was at 83 s when this test began, and the fade takes 20 s.
    const latest = (263 - 83 - 20 + 1) / 60;
    const earliest = latest - (Date.now() - beganMs + 2_000) / 60_000;
    assert.ok(minutes > earliest && minutes < latest, String(minutes));
    const until = new Date(Date.now() + 29.5 * 60_000).toISOString();
    node.change(put('audio.sleep', '', { active: true, until, fade: 20 }));
    await sheet.getByRole('heading', { name: 'The music ends in 30 min' }).waitFor();
    await sheet.getByRole('button', { name: 'Let it play on' }).tap();
    await commandsAre({ do: 'sleep/stop' });
    await sheet.getByRole('button', { name: 'Close' }).tap();
    await page.getByRole('button', { name: 'The music ends in 30 min', pressed: true }).waitFor();
    assert.equal(await page.locator('.moon').textContent(), '30 min');
  });

  test('all outputs are muted at once, and those muted before stay so when all are unmuted', async () => {
    const silent = output(2, { description: 'Attic', muted: true });
    await open({ audio: [...IN_THE_KITCHEN, silent] });
    await openTab('Sound');
    const mute = page.getByRole('button', { name: 'Mute all' });
    const mutesAre = (muted: boolean): Promise<unknown> =>
      commandsAre(
        { do: 'mute', target: { kind: 'output', ref: '0' }, muted },
        { do: 'mute', target: { kind: 'output', ref: '1' }, muted },
      );
    await mute.tap();
    await mutesAre(true);
    node.change(output(0, { muted: true }), output(1, { description: 'Kitchen', muted: true }));
    await page.locator('#outputs [aria-pressed=true][aria-label="Mute all"]').waitFor();
    await mute.tap();
    await mutesAre(false);
  });

  test('on a desk the wheel changes only the volume under it', async () => {
    await open();
    await page.setViewportSize({ width: 1280, height: 900 });
    assert.equal(await page.locator('.foot').isVisible(), false);
    await page.getByRole('slider', { name: 'Volume on Kitchen' }).hover({ force: true });
    await page.mouse.wheel(0, -100);
    await commandsAre({ do: 'volume', target: kitchen, volume: 0.4 });
    await page.getByRole('slider', { name: 'Volume of Kitchen' }).hover({ force: true });
    await page.mouse.wheel(0, 100);
    await page.locator('.player').getByRole('button', { name: 'Quieter' }).click();
    await commandsAre({ do: 'delta', target: kitchen, delta: -0.05 });
  });

  test('?view=now shows what plays, large, and dimmed while nobody uses it', async () => {
    await open({}, '?view=now');
    await page.setViewportSize({ width: 1920, height: 1080 });
    const cover = await page.locator('.wall > .cover').boundingBox();
    assert.ok(cover && cover.width > 700, JSON.stringify(cover));
    await page.getByText('Nocturne in E-flat major').waitFor();
    assert.equal(await page.locator('#outputs, header .bar, .foot').count(), 0);
    for (const [width, height] of Object.entries({ 360: 740, 820: 900 }))
      assert.equal(await heightAt(Number(width), height), height, 'all of it is on the screen');
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await nextCommand();
    await page.clock.install();
    await page.reload();
    await page.locator('.wall').waitFor();
    await page.clock.runFor(20_000);
    await page.locator('.wall.rests').waitFor();
    await page.mouse.move(50, 50);
    await page.locator('.wall.rests').waitFor({ state: 'detached' });
  });

  test('?only=outputs,players shows these parts alone', async () => {
    await open({}, '?only=outputs,players');
    await page.locator('#now').waitFor();
    await page.locator('#outputs').waitFor();
    assert.equal(await page.locator('section').count(), 2);
    assert.equal(await page.locator('.bar, .foot').count(), 0);
    await page.setViewportSize({ width: 1440, height: 900 });
    const now = await page.locator('#now').boundingBox();
    const outputs = await page.locator('#outputs').boundingBox();
    assert.ok(now && outputs && outputs.x - now.x - now.width < 100, 'no column between them is empty');
  });

  test("the browser's tab has the title", async () => {
    await open();
    await until('the tab has the title', async () =>
      (await page.title()).startsWith('Nocturne in E-flat major'),
    );
    node.change(player('mpd', { playback_status: 'Paused' }));
    await until("the tab has the node's name", async () => (await page.title()) === 'living-room');
  });

  test("the button of the node's column follows the width of the window", async () => {
    await open();
    // Nothing is drawn any more once the last section is there.
    await page.locator('#system .health').waitFor({ state: 'attached' });
    await page.setViewportSize({ width: 1000, height: 800 });
    const button = page.getByRole('button', { name: 'Node', exact: true });
    await button.and(page.locator('[aria-expanded=false]')).waitFor();
    await page.setViewportSize({ width: 1440, height: 900 });
    await button.and(page.locator('[aria-expanded=true]')).waitFor();
  });

  test('the columns are balanced, and controls stand before meters', async () => {
    await open({ systemd: [service('system.service', {}, 'system'), ...units(6)] });
    await page.setViewportSize(DESK.viewport);
    await page.getByRole('button', { name: 'Node', exact: true }).waitFor();
    await page.locator('#system .health').waitFor();
    await page.locator('.service').nth(6).getByText('View only').waitFor();
    assert.equal(await page.locator('#system .lines').isVisible(), false, 'all is well');
    for (const [width, height] of Object.entries({ 1440: 900, 1920: 1080 })) {
      const tall = await heightAt(Number(width), height);
      assert.ok(tall <= height * 1.25, `${tall} at ${width}`);
    }
    node.health('upgrade', 'failed', 'it has died six times');
    await page.locator('#system').getByText('it has died six times').waitFor();
  });
});
