// Tests the page as a remote control: levels, volumes, the sleep timer, drags, the mouse wheel, and the wall.
// Also tests the columns, and the addresses with `?view` and `?only`.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Change } from '../../src/protocol/actor/messages.js';
import { drop, put } from '../gateway/scripted-backends.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { Finger, spotOn } from './finger.js';
import { NodeWithPage, output, player, service, stream } from './node-with-page.js';
import {
  answerChecksAtOnce,
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

/**
 * Stream 10 plays in the kitchen. It has the same process id as the player of `ORDINARY`, so it belongs to
 * this player (node-with-page.ts). Output 0 is the default output.
 */
const IN_THE_KITCHEN = [
  output(0),
  output(1, { description: 'Kitchen', volume: 0.3 }),
  streamOfPlayer('output-1'),
];

function streamOfPlayer(outputName: string): Change {
  return stream(10, { output: outputName, props: { 'application.process.id': '4711' } });
}

const STOPPED = player('mpd', { playback_status: 'Stopped', metadata: {} });
const COVER = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>';

/** Hides the page, as a browser does when another tab is in front. */
const HIDE = `Object.defineProperty(document, 'hidden', { value: true, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'))`;
const SHOW = `delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))`;

const units = (count: number) =>
  Array.from({ length: count }, (_, index) => service(`unit-${index}.service`));

describe('the remote', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  pageForEach(PHONE);
  answerChecksAtOnce();

  const open = async (state: Parameters<NodeWithPage['up']>[0] = {}, query = ''): Promise<void> => {
    node.up({ audio: IN_THE_KITCHEN, ...state });
    await page.goto(node.url + query);
    await page.locator('#now').waitFor();
    node.backends.requests.length = 0;
  };
  /** The height of the whole page on a screen of this size. */
  const pageHeightAt = async (width: number, height: number): Promise<number> => {
    await page.setViewportSize({ width, height });
    return page.evaluate('document.documentElement.scrollHeight');
  };
  const KITCHEN = { kind: 'output', ref: '1' };
  /** Waits until the last of `commands()` is the expected one. Then forgets all commands. */
  const commandsEndWith = async (expected: object): Promise<void> => {
    await until(`the last command is ${JSON.stringify(expected)}`, () =>
      isDeepStrictEqual(commands().at(-1), expected),
    );
    node.backends.requests.length = 0;
  };
  /** The track of `player` is 263 s long, and its position is 83 s at first (node-with-page.ts). */
  const REST_OF_TRACK_SECONDS = 263 - 83;
  /**
   * When the minutes of a sleep are over, the node fades the music out. By default the fade takes this long
   * (`FADE_MS` in src/page/sleep.tsx).
   */
  const FADE_SECONDS = 20;
  /** Asserts that the next command makes the fade begin `fadeAfterSeconds` after `beganMs`. */
  const assertFadeBegin = async (fadeAfterSeconds: number, beganMs: number): Promise<void> => {
    const { minutes } = (await nextCommand()) as { readonly minutes: number };
    const remainingSeconds = fadeAfterSeconds - (Date.now() - beganMs) / 1_000;
    // The page has calculated the minutes later than `beganMs` and before now. Its estimate of the node's
    // time may be wrong by a second.
    const minutesMax = (fadeAfterSeconds + 1) / 60;
    const minutesMin = (remainingSeconds - 1) / 60;
    assert.ok(minutes > minutesMin && minutes < minutesMax, String(minutes));
  };

  test('the node measures levels only while the page is visible, and a meter shows 0 while the node is away', async () => {
    await open();
    await openTab('Sound');
    const isMeasured = (): boolean | undefined => node.backends.levelsWatched.at(-1);
    const meter = page.getByRole('meter', { name: 'Level of Living room' });
    const level = (): Promise<number> => meter.evaluate((element: { value: number }) => element.value);
    await until('the level is shown', async () => {
      // A level has no effect before the meter is drawn. So the test sends it repeatedly, as a node does.
      node.gateway.listener.level(JSON.stringify({ outputs: [{ id: 0, peak: [0.5, 0.25] }] }));
      return (await level()) === 0.5;
    });

    await page.evaluate(HIDE);
    await until('the levels are not measured', () => isMeasured() === false);
    await page.evaluate(SHOW);
    await until('the levels are measured', () => isMeasured() === true);

    await node.close();
    await until('the meter shows 0', async () => (await level()) === 0);
  });

  test('a new level draws only its meter, not the whole page', async () => {
    // The position of a playing player would cause drawings, too.
    await open({ players: [] });
    await openTab('Sound');
    const meter = page.getByRole('meter', { name: 'Level of Living room' });
    await meter.waitFor({ state: 'attached' });
    // The page sets one timer for each drawing (src/page/drawing.ts).
    await page.evaluate(`{
      const setTimer = window.setTimeout;
      window.drawings = 0;
      window.setTimeout = (callback, ...others) => {
        if (/this\\.drawNow\\(\\)/.test(String(callback))) window.drawings += 1;
        return setTimer(callback, ...others);
      };
    }`);

    const countDrawings = async (): Promise<number> => Number(await page.evaluate('window.drawings'));
    // When the meter is there, the page may still be drawing the last sections.
    await page.locator('#system .button').first().waitFor({ state: 'attached' });
    let drawingsBefore = Number.NaN;
    await until('the page is not drawn any more', async () => {
      const drawings = await countDrawings();
      const isAtRest = drawings === drawingsBefore;
      drawingsBefore = drawings;
      return isAtRest;
    });

    const levels = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
    for (const level of levels)
      await until(`the level ${level} is shown`, async () => {
        const peak = [level];
        // No meter shows the level of an input, but this level must not draw the page either.
        node.gateway.listener.level(
          JSON.stringify({ outputs: [{ id: 0, peak }], inputs: [{ id: 9, peak }] }),
        );
        return (await meter.evaluate((element: { value: number }) => element.value)) === level;
      });
    const drawingsAfter = await countDrawings();
    // If a level drew the page, the nine levels would have drawn it at least nine times.
    assert.ok(
      drawingsAfter - drawingsBefore < levels.length,
      `nine levels have drawn the page ${drawingsAfter - drawingsBefore} times`,
    );

    node.change(output(0, { default: true, volume: 0.33 }));
    await until('a volume draws the page', async () => (await countDrawings()) > drawingsAfter);
  });

  test('the card of an output has its label and a slider that ends at its volume limit, and a hidden output has no card', async () => {
    const radio = { label: 'Radio', volume_limit: 0.5, volume: 0.45 };
    await open({ audio: [output(0), output(1, radio), output(2, { description: 'HDMI', hidden: true })] });
    await openTab('Sound');
    const cards = page.locator('.output');
    await cards.getByText('Radio', { exact: true }).waitFor();
    assert.equal(await cards.count(), 2);
    const slider = cards.getByRole('slider', { name: 'Volume of Radio' });
    await slider.focus();
    // The first press reaches the limit, and the others must not go beyond it.
    for (let presses = 0; presses < 9; presses += 1) await page.keyboard.press('ArrowRight');
    await until('the node receives the limit as a volume', () =>
      commands().some((command) => 'volume' in command && command.volume === 0.5),
    );
    assert.equal(await slider.getAttribute('aria-valuetext'), '50%');
    const volumes = commands().flatMap((command) => ('volume' in command ? [Number(command.volume)] : []));
    assert.ok(
      volumes.every((volume) => volume <= 0.5),
      volumes.join(),
    );
  });

  test("the volume of the playing output is in the foot on a phone and beside the player at a desk, and the player's own volume is under More", async () => {
    await open();
    const setToZero = { do: 'volume', target: KITCHEN, volume: 0 };
    await page.locator('.foot').getByText('Kitchen', { exact: true }).waitFor();
    await page.getByRole('slider', { name: /^Volume/ }).press('Home');
    await commandsAre(setToZero);

    const card = page.locator('.player');
    await page.setViewportSize(DESK.viewport);
    await card.getByRole('slider', { name: 'Volume on Kitchen' }).press('Home');
    await commandsAre(setToZero);

    await page.setViewportSize(PHONE.viewport);
    const playerVolume = card.getByRole('slider', { name: 'Volume of Music Player Daemon' });
    assert.equal(await playerVolume.isVisible(), false);
    await card.getByLabel('More of').click();
    await playerVolume.waitFor();
  });

  test('if the player has no stream of its own, the foot has the volume of the output to which a stream plays', async () => {
    // Some players, such as mpDris2, only control another program. That program plays the stream.
    await open({ players: [player('mpd', { pid: 1 })] });
    await page.locator('.foot').getByText('Kitchen', { exact: true }).waitFor();
    await page.getByRole('slider', { name: 'Volume on Kitchen' }).press('Home');
    await commandsAre({ do: 'volume', target: KITCHEN, volume: 0 });
  });

  test("the foot of a phone's page keeps the play button, the title and the volume in place while the page scrolls", async () => {
    await open({ systemd: units(20) });
    await openTab('Node');
    const foot = page.locator('.foot');
    // The small player in the foot comes shortly after the large player has left the screen.
    await foot.getByText('Nocturne in E-flat major').waitFor();
    const place = await foot.boundingBox();
    await page.evaluate('scrollTo(0, 1200)');
    assert.deepEqual(await foot.boundingBox(), place);
    assert.equal(place && place.y + place.height, PHONE.viewport.height);

    const finger = await Finger.on(page);
    const slider = foot.getByRole('slider', { name: 'Volume on Kitchen' });
    await finger.tap(await spotOn(slider, 0.1));
    await nextCommand();
    await foot.getByRole('button', { name: 'Louder' }).tap();
    await foot.getByRole('button', { name: 'Louder' }).tap();
    await foot.getByRole('button', { name: /^Pause: / }).tap();
    const louder = { do: 'delta', target: KITCHEN, delta: 0.05 };
    await commandsAre(louder, louder, { do: 'pause', player: 'org.mpris.MediaPlayer2.mpd' });
  });

  test("a button, an arrow key and a notch of the wheel move a volume by the node's step", async (t) => {
    const preciseNode = new NodeWithPage({ ui: { enabled: true, volumeStep: 2 } }).up({
      audio: IN_THE_KITCHEN,
    });
    t.after(() => preciseNode.close());
    await page.goto(preciseNode.url);
    const foot = page.locator('.foot');
    const slider = foot.getByRole('slider', { name: 'Volume on Kitchen' });
    const receivedCommands = (): object[] =>
      preciseNode.backends.requests.flatMap(({ command }) => (command.do === 'status' ? [] : [command]));
    const sendsCommand = async (expected: object, act: () => Promise<unknown>): Promise<void> => {
      preciseNode.backends.requests.length = 0;
      await act();
      await until(`the command is ${JSON.stringify(expected)}`, () =>
        isDeepStrictEqual(receivedCommands(), [expected]),
      );
    };
    /**
     * Asserts that `act` sends this volume. Then publishes the volume, because the page drops a volume that
     * the node does not publish.
     */
    const setsVolume = async (volume: number, act: () => Promise<unknown>): Promise<void> => {
      await sendsCommand({ do: 'volume', target: KITCHEN, volume }, act);
      preciseNode.change(output(1, { description: 'Kitchen', volume }));
    };

    await foot.getByRole('button', { name: 'Quieter' }).waitFor();
    await sendsCommand({ do: 'delta', target: KITCHEN, delta: -0.02 }, () =>
      foot.getByRole('button', { name: 'Quieter' }).tap(),
    );
    await setsVolume(0.32, () => slider.press('ArrowUp'));
    await setsVolume(0.3, () => slider.press('ArrowLeft'));
    await setsVolume(1, () => slider.press('End'));
    await setsVolume(0.98, () => slider.press('ArrowDown'));
    await slider.hover();
    await setsVolume(1, () => page.mouse.wheel(0, -60));
  });

  test('the button Sleep ends the music after some minutes or with the track, and shows the remaining time', async () => {
    const audio = [...IN_THE_KITCHEN, put('audio.sleep', '', { active: false })];
    const beganMs = Date.now();
    await open({ audio, players: [player('mpd')] });
    await page.locator('.hero').getByRole('button', { name: 'Sleep' }).tap();
    const sheet = page.getByRole('dialog');
    await sheet.getByRole('button', { name: '30 min' }).tap();
    await commandsAre({ do: 'sleep', minutes: 30 });

    await sheet.getByRole('button', { name: 'End of the track' }).tap();
    await assertFadeBegin(REST_OF_TRACK_SECONDS - FADE_SECONDS, beganMs);

    const endsAt = new Date(Date.now() + 29.5 * 60_000).toISOString();
    node.change(put('audio.sleep', '', { active: true, until: endsAt, fade: 20 }));
    await sheet.getByRole('heading', { name: 'The music ends in 30 min' }).waitFor();
    await sheet.getByRole('button', { name: 'Let it play on' }).tap();
    await commandsAre({ do: 'sleep/stop' });
    await sheet.getByRole('button', { name: 'Close' }).tap();
    // The element `.moon` contains the time and the sheet. Without the sheet, `.moon` has only the time.
    await page.locator('.sheet').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'The music ends in 30 min', pressed: true }).waitFor();
    assert.equal(await page.locator('.moon').textContent(), '30 min');
  });

  test('the button End of the track sets a longer sleep if the player plays slowly', async () => {
    const audio = [...IN_THE_KITCHEN, put('audio.sleep', '', { active: false })];
    const beganMs = Date.now();
    const rate = 0.5;
    await open({ audio, players: [player('mpd', { rate })] });
    await page.locator('.hero').getByRole('button', { name: 'Sleep' }).tap();
    await page.getByRole('dialog').getByRole('button', { name: 'End of the track' }).tap();
    // The fade takes the same time for a slow player.
    await assertFadeBegin(REST_OF_TRACK_SECONDS / rate - FADE_SECONDS, beganMs);
  });

  test('a drag on the volume beside the player ends when the music moves to another output', async () => {
    await open();
    await page.setViewportSize(DESK.viewport);
    const volumeOn = (name: string) => page.getByRole('slider', { name: `Volume on ${name}` });
    await page.mouse.move(...(await spotOn(volumeOn('Kitchen'), 0.3)));
    await page.mouse.down();
    await page.mouse.move(...(await spotOn(volumeOn('Kitchen'), 0.5)));
    await commandsEndWith({ do: 'volume', target: KITCHEN, volume: 0.5 });

    node.change(streamOfPlayer('output-0'));
    await page.mouse.move(...(await spotOn(volumeOn('Living room'), 0.9)), { steps: 4 });
    await page.mouse.up();
    // The drag sends nothing to the living room, so the next command is that of the button.
    await page.locator('.player').getByRole('button', { name: 'Quieter' }).click();
    await commandsAre({ do: 'delta', target: { kind: 'output', ref: '0' }, delta: -0.05 });
  });

  test('a drag on the position ends when another player takes the place of the large player', async () => {
    const withTitle = (title: string) => ({
      metadata: { 'mpris:length': '263000000', 'xesam:title': title },
    });
    await open({ players: [player('mpd', withTitle('Second')), player('vlc', withTitle('First'))] });
    await page.setViewportSize(DESK.viewport);
    const position = (title: string) => page.getByRole('slider', { name: `Position in ${title}` });
    // A player that plays becomes the large one. After this change, only the player of `First` plays.
    node.change(player('mpd', { ...withTitle('Second'), playback_status: 'Paused' }));
    await page.mouse.move(...(await spotOn(position('First'), 0.3)));
    await page.mouse.down();
    await page.mouse.move(...(await spotOn(position('First'), 0.5)));

    node.change(drop('players', 'org.mpris.MediaPlayer2.vlc'));
    await page.mouse.move(...(await spotOn(position('Second'), 0.9)), { steps: 4 });
    await page.mouse.up();
    // The drag sets no position of the second player, so the next command is that of the button.
    await page.locator('.player').getByRole('button', { name: 'Play', exact: true }).click();
    await commandsAre({ do: 'play', player: 'org.mpris.MediaPlayer2.mpd' });
  });

  test('the button Mute all mutes all outputs, and a second press unmutes only the outputs that the first press has muted', async () => {
    const mutedAttic = output(2, { description: 'Attic', muted: true });
    await open({ audio: [...IN_THE_KITCHEN, mutedAttic] });
    await openTab('Sound');
    const mute = page.getByRole('button', { name: 'Mute all' });
    const commandsSetMuted = (muted: boolean): Promise<unknown> =>
      commandsAre(
        { do: 'mute', target: { kind: 'output', ref: '0' }, muted },
        { do: 'mute', target: { kind: 'output', ref: '1' }, muted },
      );
    await mute.tap();
    await commandsSetMuted(true);

    node.change(output(0, { muted: true }), output(1, { description: 'Kitchen', muted: true }));
    await page.locator('#outputs [aria-pressed=true][aria-label="Mute all"]').waitFor();
    await mute.tap();
    await commandsSetMuted(false);
  });

  test('at a desk, the wheel changes the volume beside the player, but no volume in the list of outputs', async () => {
    await open();
    await page.setViewportSize(DESK.viewport);
    assert.equal(await page.locator('.foot').isVisible(), false);
    await page.getByRole('slider', { name: 'Volume on Kitchen' }).hover({ force: true });
    await page.mouse.wheel(0, -100);
    await commandsAre({ do: 'volume', target: KITCHEN, volume: 0.35 });
    // The wheel sends nothing in the list of outputs, so the next command is that of the button.
    await page.getByRole('slider', { name: 'Volume of Kitchen' }).hover({ force: true });
    await page.mouse.wheel(0, 100);
    await page.locator('.player').getByRole('button', { name: 'Quieter' }).click();
    await commandsAre({ do: 'delta', target: KITCHEN, delta: -0.05 });
  });

  test('each notch of any mouse wheel is one step, and small movements on a touchpad add up to a step', async () => {
    const DOM_DELTA_PIXEL = 0;
    const DOM_DELTA_LINE = 1;
    await open();
    await page.setViewportSize(DESK.viewport);
    const slider = page.getByRole('slider', { name: 'Volume on Kitchen' });
    for (const { device, deltaMode, deltas } of [
      { device: 'Chromium on older systems', deltaMode: DOM_DELTA_PIXEL, deltas: [53] },
      { device: 'Chromium on Windows', deltaMode: DOM_DELTA_PIXEL, deltas: [100] },
      { device: 'Chromium on Linux', deltaMode: DOM_DELTA_PIXEL, deltas: [120] },
      { device: 'Firefox', deltaMode: DOM_DELTA_LINE, deltas: [3] },
      { device: 'Firefox with one line per notch', deltaMode: DOM_DELTA_LINE, deltas: [1] },
      // Small movements make a step when they add up to 50 px (`NOTCH_MIN_PX` in src/page/slider-pointer.ts).
      { device: 'a touchpad', deltaMode: DOM_DELTA_PIXEL, deltas: [20, 20, 20, 20] },
    ]) {
      for (const deltaY of deltas)
        await slider.dispatchEvent('wheel', { deltaMode, deltaY, cancelable: true });
      await until(`${device} sends one step`, () => commands().length > 0);
      assert.deepEqual(commands(), [{ do: 'volume', target: KITCHEN, volume: 0.25 }], device);
      // The node publishes this volume. Then somebody else sets the first volume again.
      node.change(output(1, { description: 'Kitchen', volume: 0.25 }));
      await slider.and(page.locator('[aria-valuetext="25%"]')).waitFor();
      node.change(output(1, { description: 'Kitchen', volume: 0.3 }));
      await slider.and(page.locator('[aria-valuetext="30%"]')).waitFor();
      node.backends.requests.length = 0;
    }
  });

  test('?view=now shows a large player, and dims it while nobody uses the page', async () => {
    await open({}, '?view=now');
    await page.setViewportSize({ width: 1920, height: 1080 });
    const cover = await page.locator('.wall > .cover').boundingBox();
    assert.ok(cover && cover.width > 700, JSON.stringify(cover));
    await page.getByText('Nocturne in E-flat major').waitFor();
    assert.equal(await page.locator('#outputs, header .bar, .foot').count(), 0);
    for (const [width, height] of [
      [360, 740],
      [820, 900],
    ] as const)
      assert.equal(await pageHeightAt(width, height), height, 'the page fits on the screen');

    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await nextCommand();

    await page.clock.install();
    await page.reload();
    await page.locator('.wall').waitFor();
    // A page that nobody uses is dimmed after 15 s (`DIM_AFTER_MS` in src/page/wall.tsx).
    await page.clock.runFor(20_000);
    await page.locator('.wall.rests').waitFor();
    await page.mouse.move(50, 50);
    await page.locator('.wall.rests').waitFor({ state: 'detached' });
  });

  test('?view=now names the stream that sounds if there is no player, or if the player has no track', async () => {
    const phone = { name: 'Phone of a guest', output: 'output-1' };
    await open({ audio: [output(0), output(1), stream(10, phone)], players: [] }, '?view=now');
    const title = (text: string) => page.locator('.wall-title').getByText(text, { exact: true });
    const advice = page.getByText('in Bluetooth');
    await title('Phone of a guest').waitFor();
    assert.equal(await page.locator('.wall.silent').count(), 0);
    assert.equal(await advice.count(), 0);

    await page.route('**/cover*', (route) => route.fulfill({ contentType: 'image/svg+xml', body: COVER }));
    const covers = page.locator('.wall img');
    node.change(player('mpd', { metadata: { 'xesam:title': 'Song', 'mpris:artUrl': 'file:///cover' } }));
    await title('Song').waitFor();
    // The wall draws the cover twice: as a picture, and blurred behind everything.
    await until('the cover is drawn', async () => (await covers.count()) === 2);
    node.change(STOPPED);
    await page.getByRole('button', { name: 'Play', exact: true }).waitFor();
    await title('Phone of a guest').waitFor();
    assert.equal(await page.locator('.wall.silent').count(), 0);
    assert.equal(await covers.count(), 0, 'a stream has no cover');

    node.change(stream(10, { ...phone, corked: true }));
    await title('Nothing is playing').waitFor();
    await page.locator('.wall.silent').waitFor();
    await advice.waitFor();

    // An input's stream runs even while the input is silent. So the wall names this stream, but is `.silent`.
    node.change(stream(9, { name: 'Record player', input: 'turntable' }));
    await title('Record player').waitFor();
    assert.equal(await page.locator('.wall.silent').count(), 1);
  });

  test('the large card of a player without a track names the stream that sounds, and gives advice only if no stream sounds', async () => {
    const phone = { name: 'Phone of a guest', output: 'output-1' };
    await open({ audio: [output(0), output(1), stream(10, phone)], players: [STOPPED] });
    const title = (text: string) => page.locator('.player .title').getByText(text, { exact: true });
    const advice = page.getByText('in Bluetooth');
    await title('Phone of a guest').waitFor();
    assert.equal(await advice.count(), 0);

    node.change(stream(10, { ...phone, corked: true }));
    await title('Nothing is playing').waitFor();
    await advice.waitFor();
  });

  test('an icon for the home screen opens the address at which it was made, and each address has an icon of its own', async () => {
    const session = await page.context().newCDPSession(page);
    for (const query of ['', '?view=house', '?view=now']) {
      await open({}, query);
      // For a browser, all pages with the same `id` are one app, and an app has only one icon.
      const { manifest } = await session.send('Page.getAppManifest');
      assert.deepEqual([manifest?.startUrl, manifest?.id], [node.url + query, node.url + query]);
    }
  });

  test('?only=outputs,players shows only the outputs and the players', async () => {
    await open({}, '?only=outputs,players');
    await page.locator('#now').waitFor();
    await page.locator('#outputs').waitFor();
    assert.equal(await page.locator('section').count(), 2);
    assert.equal(await page.locator('.bar, .foot').count(), 0);
    await page.setViewportSize({ width: 1440, height: 900 });
    const now = await page.locator('#now').boundingBox();
    const outputs = await page.locator('#outputs').boundingBox();
    assert.ok(now && outputs);
    const gap = outputs.x - (now.x + now.width);
    assert.ok(gap < 100, 'there is no empty column between the two parts');
  });

  test("the title of the browser's tab names the track that plays, or the node if no track plays", async () => {
    await open();
    await until('the tab names the track', async () =>
      (await page.title()).startsWith('Nocturne in E-flat major'),
    );
    node.change(player('mpd', { playback_status: 'Paused' }));
    await until('the tab names the node', async () => (await page.title()) === 'living-room');
  });

  test('the column under the button Node is open if the window is wide', async () => {
    await open();
    // When the last section is there, no further drawing is due. So only the width can change the button.
    await page.locator('#system .health').waitFor({ state: 'attached' });
    await page.setViewportSize({ width: 1000, height: 800 });
    const button = page.getByRole('button', { name: 'Node', exact: true });
    await button.and(page.locator('[aria-expanded=false]')).waitFor();
    await page.setViewportSize({ width: 1440, height: 900 });
    await button.and(page.locator('[aria-expanded=true]')).waitFor();
  });

  test('the columns are balanced, and the states of the backends are visible only after a failure', async () => {
    await open({ systemd: [service('system.service', {}, 'system'), ...units(6)] });
    await page.setViewportSize(DESK.viewport);
    await page.getByRole('button', { name: 'Node', exact: true }).waitFor();
    await page.locator('#system .health').waitFor();
    // The unit of the system comes last, because the page offers no commands for it.
    await page.locator('.service').nth(6).getByText('View only').waitFor();
    assert.equal(await page.locator('#system .lines').isVisible(), false, 'the states are folded');
    // If the columns were not balanced, the highest one would be much higher than the screen.
    for (const [width, height] of [
      [1440, 900],
      [1920, 1080],
    ] as const) {
      const pageHeight = await pageHeightAt(width, height);
      assert.ok(pageHeight <= height * 1.25, `${pageHeight} at ${width}`);
    }

    node.health('upgrade', 'failed', 'it has died six times');
    await page.locator('#system').getByText('it has died six times').waitFor();
  });
});
