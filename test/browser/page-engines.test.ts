// Tests the page in Firefox and WebKit, on a phone, at a desk and on a wall. This file tests only behaviour
// that may differ between engines. The other files `page-*.test.ts` test the page in Chromium.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import axe from 'axe-core';
import { until } from '../until.js';
import { AXE_TAGS, findings, misfits, PICTURES } from './checked-states.js';
import { ENGINES, openEngine } from './engines.js';
import { NodeWithPage, output, PAIRED_PHONE, player } from './node-with-page.js';
import { DESK, PHONE } from './pages.js';
import { startProxy } from './severable-proxy.js';
import type { Role, WebDriverPage } from './webdriver.js';

type Tab = 'Music' | 'Sound' | 'Node';

/**
 * A control, and the command that it sends. A control without a command only opens or closes something. The
 * role `answer` is a button in the open dialog.
 */
type Row = readonly [tab: Tab, role: Role, name: string, command?: object];

const MPD = 'org.mpris.MediaPlayer2.mpd';
const LIVING_ROOM = { kind: 'output', ref: '0' };
const KITCHEN = { kind: 'output', ref: '1' };
const START_AIRPLAY = { do: 'start', scope: 'user', unit: 'shairport-sync.service' };

const VOLUME = 'Volume on Living room';
const LOUDER_OUTPUT = output(0, { default: true, state: 'running', volume: 0.7 });

/**
 * Collects each text of the header in `texts`. When the browser brings the page back as it was, `texts`
 * begins anew, and `isBack` becomes true.
 */
const WATCH_HEADER = `(() => {
  window.texts = [];
  const note = () => window.texts.push(document.querySelector('header').textContent);
  new MutationObserver(note).observe(document.querySelector('header'), { subtree: true, childList: true, characterData: true });
  addEventListener('pageshow', ({ persisted }) => { window.texts = []; window.isBack = persisted; note(); });
})()`;

/** The sum of red, green and blue of the page's background, 0..765. */
const BRIGHTNESS = String.raw`getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).reduce((sum, colour) => sum + Number(colour), 0)`;

/** Waits for all parts of the page, also for those that a phone shows in another tab. */
const waitForWholePage = (page: WebDriverPage) =>
  until('the page is whole', () => page.evaluate("document.querySelector('#system .button') !== null"));

/** Asserts that axe-core has no finding. Also saves a picture if `PICTURES` names a folder. */
async function assertClean(page: WebDriverPage, pictureName: string): Promise<void> {
  if (PICTURES !== '') writeFileSync(join(PICTURES, `${pictureName}.png`), await page.screenshot());
  await page.runStatements(axe.source);
  assert.deepEqual(await findings(page, AXE_TAGS), []);
}

const CONTROLS: readonly Row[] = [
  ['Music', 'button', 'Pause', { do: 'pause', player: MPD }],
  ['Music', 'button', 'Next', { do: 'next', player: MPD }],
  ['Music', 'button', 'Shuffle', { do: 'shuffle', player: MPD, shuffle: true }],
  ['Music', 'button', 'Repeat: off', { do: 'loop', player: MPD, loop: 'Playlist' }],
  ['Music', 'button', 'Louder', { do: 'delta', target: LIVING_ROOM, delta: 0.05 }],
  ['Music', 'button', 'Mute the sound on Living room', { do: 'mute', target: LIVING_ROOM, muted: true }],
  ['Music', 'button', 'Sleep'],
  ['Music', 'answer', '30 min', { do: 'sleep', minutes: 30 }],
  ['Music', 'answer', 'Close'],
  // The kitchen is muted at first (ORDINARY in node-with-page.ts), so this button unmutes it.
  ['Sound', 'button', 'Mute Kitchen', { do: 'mute', target: KITCHEN, muted: false }],
  ['Sound', 'button', 'Use Kitchen', { do: 'default', output: '1', move: true }],
  ['Sound', 'switch', 'Bluetooth', { do: 'power_down' }],
  ['Sound', 'button', 'Disconnect My phone', { do: 'disconnect', address: PAIRED_PHONE.address }],
  ['Node', 'button', 'Start AirPlay receiver', START_AIRPLAY],
  ['Node', 'button', 'Switch off'],
  ['Node', 'answer', 'Switch off', { do: 'poweroff' }],
];

for (const engine of ENGINES)
  describe(`the page in ${engine.name}`, { skip: engine.skipReason() }, () => {
    let page: WebDriverPage;
    let close: () => Promise<void>;
    let node: NodeWithPage;
    before(async () => {
      ({ page, close } = await openEngine(engine));
    });
    after(() => close());
    beforeEach(() => {
      node = new NodeWithPage().up();
    });
    afterEach(async () => {
      await page.goto('about:blank');
      await node.close();
    });

    const open = async ({ viewport }: typeof PHONE | typeof DESK, query = ''): Promise<void> => {
      await page.setSize(viewport.width, viewport.height);
      await page.goto(node.url + query);
      await page.sees('Nocturne in E-flat major');
      if (query === '') await waitForWholePage(page);
    };
    /** Leaves out `status`, which the page sends by itself to learn whether the node can be switched off. */
    const commands = () =>
      node.backends.requests.map(({ command }) => command).filter((command) => command.do !== 'status');
    const commandIs = (expected: object) =>
      until(`the only command is ${JSON.stringify(expected)}`, () => {
        assert.deepEqual(commands(), [expected]);
        return true;
      });
    const sentVolumeIs = (volume: number) =>
      until(`the last command sets the volume ${volume}`, () => {
        assert.deepEqual(commands().at(-1), { do: 'volume', target: LIVING_ROOM, volume });
        return true;
      });
    const displayedVolumeIs = (text: string) =>
      until(`the volume is displayed as ${text}`, async () => (await page.valueOf(VOLUME)) === text);

    for (const means of ['touch', 'keys', 'pointer'] as const)
      test(`each control acts by ${means}`, async () => {
        await open(PHONE);
        let openTab: Tab = 'Music';
        for (const [tab, role, name, command] of CONTROLS) {
          if (tab !== openTab) await page.press(means, 'button', tab);
          openTab = tab;
          node.backends.requests.length = 0;
          await page.press(means, role, name);
          if (command !== undefined) await commandIs(command);
        }
      });

    test('a slider follows a finger, a mouse and keys', async () => {
      await open(PHONE);
      // The volume of the living room is 0.42 at first (ORDINARY in node-with-page.ts).
      const thumbSpot = await page.spotOf('slider', VOLUME, 0.42);
      await page.drag('touch', thumbSpot, await page.spotOf('slider', VOLUME, 0.22));
      await sentVolumeIs(0.22);
      const clickedSpot = await page.spotOf('slider', VOLUME, 0.8);
      // A drag that ends where it begins is a click.
      await page.drag('pointer', clickedSpot, clickedSpot);
      await sentVolumeIs(0.8);
      await page.focus('slider', VOLUME);
      await page.key('Home');
      await sentVolumeIs(0);
      // The arrow key moves the volume by the node's step, which is 5 % by default (`api.ui.volumeStep`).
      await page.key('ArrowRight');
      await sentVolumeIs(0.05);
    });

    test('an arrow key chooses another output in a list', async () => {
      await open(PHONE);
      // The doorbell is client 11, and plays to output-0 at first (ORDINARY in node-with-page.ts).
      await page.focus('choice', 'Output of Doorbell');
      await page.key('ArrowDown');
      await commandIs({ do: 'move', client: '11', output: 'output-1' });
    });

    test('a sheet and a question take less than half of the height of a phone', async () => {
      await open(PHONE);
      for (const [tab, opener, answer] of [
        ['Music', 'Playing on', 'Close'],
        ['Node', 'Switch off', 'Cancel'],
      ] as const) {
        await page.press('pointer', 'button', tab);
        await page.press('pointer', 'button', opener);
        await page.waitFor('answer', answer);
        await assertClean(page, `${engine.name}-360-${opener}`);
        const height = await page.evaluate<number>("document.querySelector('dialog').clientHeight");
        assert.ok(height < PHONE.viewport.height / 2, `${opener}: ${height}`);
        await page.press('pointer', 'answer', answer);
      }
    });

    test('the page shows the changes of another client', async () => {
      await open(PHONE);
      node.change(
        LOUDER_OUTPUT,
        player('mpd', { playback_status: 'Paused', metadata: { 'xesam:title': 'Gymnopédie' } }),
      );
      await page.sees('Gymnopédie');
      await page.waitFor('button', 'Play');
      await displayedVolumeIs('70%');
    });

    test('a page whose node goes away shows the loss, and is live when the node is back', async (t) => {
      let proxy = await startProxy(node.port);
      t.after(() => proxy.close());
      await page.setSize(DESK.viewport.width, DESK.viewport.height);
      await page.goto(`http://127.0.0.1:${proxy.port}/ui`);
      await page.waitFor('button', 'Mute Kitchen');
      await proxy.close();
      await page.sees('Connection lost');
      await page.waitFor('button', 'Try now');
      // `has` finds only controls that can be used.
      await until('the button cannot be used', async () => !(await page.has('button', 'Mute Kitchen')));

      node.change(LOUDER_OUTPUT);
      proxy = await startProxy(node.port, proxy.port);
      await page.sees('Connected');
      await page.press('pointer', 'button', 'Mute Kitchen');
      await displayedVolumeIs('70%');
    });

    test('no levels are measured for a hidden page, and the page is up to date when it is shown again', async () => {
      const levelsAre = (state: 'measured' | 'not measured') => {
        const isMeasured = state === 'measured';
        return until(`the levels are ${state}`, () => node.backends.levelsWatched.at(-1) === isMeasured);
      };
      await open(DESK);
      await levelsAre('measured');
      await page.hide();
      await levelsAre('not measured');
      node.change(LOUDER_OUTPUT);
      // A hidden page is shown again when it gets a size.
      await page.setSize(DESK.viewport.width, DESK.viewport.height);
      await levelsAre('measured');
      await displayedVolumeIs('70%');
    });

    test('when the browser goes back to the page, the page shows the new volume, and reports no loss', async (t) => {
      const otherNode = new NodeWithPage().up();
      t.after(() => otherNode.close());
      await open(PHONE);
      await page.evaluate(WATCH_HEADER);

      await page.goto(otherNode.url);
      await page.sees('Nocturne in E-flat major');
      node.change(LOUDER_OUTPUT);
      await page.back();

      await displayedVolumeIs('70%');
      assert.equal(await page.evaluate('window.isBack ?? false'), engine.keepsPages);
      // Firefox loads the page again and loses `texts`, so the last assertion checks nothing there.
      const texts = await page.evaluate<string[]>('window.texts ?? []');
      assert.ok(!texts.join().includes('lost'), texts.join());
    });

    test('the wall fits on the screen, and a touch of the button Pause pauses the player', async () => {
      await open(DESK, '?view=now');
      await page.sees('Living room');
      await assertClean(page, `${engine.name}-wall`);
      const isTooHigh = await page.evaluate('document.documentElement.scrollHeight > innerHeight');
      assert.equal(isTooHigh, false);
      await page.press('touch', 'button', 'Pause');
      await commandIs({ do: 'pause', player: MPD });
    });

    test('axe has no finding on a phone and at a desk, and nothing sticks out, is cut off, or is too small', async () => {
      await open(PHONE);
      for (const tab of ['Music', 'Sound', 'Node'] as const) {
        await page.press('pointer', 'button', tab);
        await assertClean(page, `${engine.name}-360-${tab}`);
        assert.deepEqual(await misfits(page), []);
      }
      await open(DESK);
      await assertClean(page, `${engine.name}-1280`);
      assert.deepEqual(await misfits(page), []);
    });

    test('the page is dark on a dark system, and has no finding of axe', async (t) => {
      const isDark = true;
      const dark = await openEngine(engine, isDark);
      t.after(() => dark.close());
      // The browser of the other tests is light. Its page is for comparison.
      await open(DESK);
      await dark.page.setSize(DESK.viewport.width, DESK.viewport.height);
      await dark.page.goto(node.url);
      await waitForWholePage(dark.page);
      const darkBrightness = await dark.page.evaluate<number>(BRIGHTNESS);
      const lightBrightness = await page.evaluate<number>(BRIGHTNESS);
      assert.ok(darkBrightness < 150, `${darkBrightness}`);
      assert.ok(lightBrightness > 600, `${lightBrightness}`);
      await assertClean(dark.page, `${engine.name}-dark`);
    });
  });
