// Tests the page of the whole house, and the menu of its rooms (docs/http-api.md, "The page"). Each room is a
// node with an address of its own, and one Chromium speaks to all of them.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import axe from 'axe-core';
import type { Locator, Page, Route } from 'playwright-core';
import type { NodeRecord } from '../../src/protocol/actor/schemas.js';
import { drop, PLAYER } from '../gateway/scripted-backends.js';
import { inOwnNetwork } from '../tools/own-network.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { AXE_TAGS, findings, misfits } from './checked-states.js';
import { type OpenBrowser, openChromium } from './chromium.js';
import { THUMB_PX } from './finger.js';
import { addressOf, HouseOfNodes, makeHouse } from './house-of-nodes.js';
import { type NodeWithPage, output, player, stream } from './node-with-page.js';
import { PHONE } from './pages.js';

const ROOMS_MAX = 16;
/** Chromium simulates a processor that is this many times slower than the one of this machine. */
const TIMES_SLOWER = 6;
const ONLY_OUTPUT = { kind: 'output', ref: '0' };
/** `makeHouse` makes this address. A house of three rooms has no node at this address at first. */
const NEW_ADDRESS = '10.9.0.15';

/**
 * Scrolls until the thumb of the slider `Volume of all rooms` is where the header is. The result is the tag
 * of the element in front at this place: the header or a section.
 */
const FRONT_AT_THUMB = `(() => {
  // The style lets a touch pass through the thumb, so elementFromPoint would not find the thumb.
  for (const thumb of document.querySelectorAll('.slider-look')) thumb.style.pointerEvents = 'auto';
  const header = document.querySelector('header').getBoundingClientRect();
  const slider = document.querySelector('.all-rooms input');
  const placeOf = () => slider.getBoundingClientRect();
  scrollBy({ top: placeOf().top + placeOf().height / 2 - header.height / 2, behavior: 'instant' });
  const { left, top, width, height } = placeOf();
  const thumbWidth = ${THUMB_PX};
  // This is the middle of the thumb.
  const x = left + thumbWidth / 2 + (width - thumbWidth) * (slider.value / slider.max);
  return document.elementFromPoint(x, top + height / 2)?.closest('header, section')?.tagName;
})()`;

inOwnNetwork(import.meta.url, () => {
  makeHouse(ROOMS_MAX);

  describe('the house on one page', { skip: skipReason({ programs: ['chromium'] }) }, () => {
    let browser: OpenBrowser;
    let house: HouseOfNodes;
    let page: Page;
    before(async () => {
      browser = await openChromium(PHONE);
    });
    after(() => browser.close());
    beforeEach(async () => {
      page = await browser.context.newPage();
    });
    afterEach(async () => {
      await page.close();
      await house.closeAll();
    });

    async function openHouse(...names: readonly string[]): Promise<void> {
      house = new HouseOfNodes(...names);
      await showHouse();
    }

    async function showHouse(): Promise<void> {
      const [firstNode] = house.rooms.values();
      await page.goto(`${firstNode?.url}?view=house`);
      for (const name of house.rooms.keys()) await card(name).getByRole('slider').waitFor();
    }

    const card = (name: string): Locator =>
      page.locator('.room').filter({ has: page.getByRole('heading', { name, exact: true }) });

    const allRoomsSlider = () => page.getByRole('slider', { name: 'Volume of all rooms' });

    /** Leaves out `status`, which the page sends by itself. */
    const commandsOf = (node: NodeWithPage) =>
      node.backends.requests.map(({ command }) => command).filter((command) => command.do !== 'status');

    const forgetCommands = (): void => {
      for (const node of house.rooms.values()) node.backends.requests.length = 0;
    };

    const THREE_ROOMS = ['Living room', 'Kitchen', 'Attic'] as const;

    test('each card shows what its room plays, and the controls of a card act on the room of this card', async () => {
      await openHouse(...THREE_ROOMS);
      house.room('Kitchen').change(player('mpd', { playback_status: 'Paused' }));
      await card('Living room').getByText('Nocturne in E-flat major').waitFor();

      await card('Kitchen').getByRole('button', { name: 'Play: Kitchen' }).click();
      await until('the kitchen has a command', () => commandsOf(house.room('Kitchen')).length === 1);
      await card('Attic').getByRole('button', { name: 'Mute Attic' }).click();
      await until('the attic has a command', () => commandsOf(house.room('Attic')).length === 1);

      assert.deepEqual(commandsOf(house.room('Kitchen')), [
        { do: 'play', player: 'org.mpris.MediaPlayer2.mpd' },
      ]);
      assert.deepEqual(commandsOf(house.room('Attic')), [{ do: 'mute', target: ONLY_OUTPUT, muted: true }]);
      // If another card had sent a command to the living room, that command would have come before this one.
      await card('Living room').getByRole('button', { name: 'Mute Living room' }).click();
      await until('the living room has a command', () => commandsOf(house.room('Living room')).length > 0);
      const muteLivingRoom = { do: 'mute', target: ONLY_OUTPUT, muted: true };
      assert.deepEqual(commandsOf(house.room('Living room')), [muteLivingRoom]);
      const href = await card('Attic').getByRole('link').getAttribute('href');
      assert.equal(href, house.room('Attic').url);
    });

    test('the page of the house and its menu of rooms have no finding of axe, and fit a phone', async () => {
      await openHouse(...THREE_ROOMS);
      await house.close('Attic');
      await card('Attic').getByText('Not there right now').waitFor();
      await page.evaluate(axe.source);
      assert.deepEqual(await findings(page, AXE_TAGS), []);
      assert.deepEqual(await misfits(page), []);
      await page.locator('.house summary').click();
      await page.locator('.room-menu').getByText('Kitchen').waitFor();
      // The menu hides parts of the controls behind it, so axe-core checks only the menu.
      assert.deepEqual(await findings(page, AXE_TAGS, '.room-menu'), []);
      assert.deepEqual(await misfits(page), []);
    });

    test('the page of the house mutes all rooms, pauses all rooms that play, and changes all volumes in proportion', async () => {
      await openHouse(...THREE_ROOMS);
      house.room('Kitchen').change(output(0, { description: 'Kitchen', default: true, volume: 0.2 }));
      house.room('Attic').change(player('mpd', { playback_status: 'Paused' }));
      await until(
        'the volume of the kitchen is displayed',
        async () => (await card('Kitchen').getByRole('slider').inputValue()) === '20',
      );
      await card('Attic').getByRole('button', { name: 'Play: Attic' }).waitFor();
      // The loudest rooms are the living room and the attic, with 0.40.
      assert.equal(await allRoomsSlider().inputValue(), '40');

      await allRoomsSlider().focus();
      // The key raises the loudest rooms to 0.41. In proportion the kitchen gets 0.205, which the page
      // rounds to two decimals (src/page/proportion.ts).
      await page.keyboard.press('ArrowUp');
      for (const [name, volume] of [
        ['Living room', 0.41],
        ['Kitchen', 0.21],
        ['Attic', 0.41],
      ] as const)
        await until(`${name} has its volume`, () => {
          const expected = { do: 'volume', target: ONLY_OUTPUT, volume };
          return isDeepStrictEqual(commandsOf(house.room(name)).at(-1), expected);
        });

      forgetCommands();
      await page.getByRole('button', { name: 'Mute all' }).click();
      for (const name of THREE_ROOMS)
        await until(`${name} is muted`, () =>
          commandsOf(house.room(name)).some((command) => command.do === 'mute'),
        );

      forgetCommands();
      await page.getByRole('button', { name: 'Pause all' }).click();
      const isPaused = (name: string) =>
        commandsOf(house.room(name)).some((command) => command.do === 'pause_all');
      await until('both rooms that play are paused', () => isPaused('Living room') && isPaused('Kitchen'));
      assert.deepEqual(commandsOf(house.room('Attic')), []);
    });

    test('the button Pause all also acts on a room without an output, and on a room whose player can only be stopped', async () => {
      await openHouse('Living room', 'Kitchen');
      const livingRoom = house.room('Living room');
      livingRoom.change(player('mpd', { capabilities: { ...PLAYER.capabilities, can_pause: false } }));
      await card('Living room').getByRole('button', { name: 'Pause', disabled: true }).waitFor();
      const kitchen = house.room('Kitchen');
      kitchen.change(drop('audio.outputs', '0'));
      // Without an output, the room has the name of its host, which is `kitchen`.
      await card('Kitchen').waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Pause all' }).click();
      for (const node of [livingRoom, kitchen])
        await until('the command has come', () => isDeepStrictEqual(commandsOf(node), [{ do: 'pause_all' }]));
    });

    test('the card of a room, and the slider of all rooms, act on the output of the player, or else on that of another program', async () => {
      await openHouse('Living room');
      const node = house.room('Living room');
      // 4711 is the process of the ordinary player (`player` in node-with-page.ts).
      const playerStreamFields = { props: { 'application.process.id': '4711' }, output: 'output-0' };
      const terrace = output(1, { description: 'Terrace', volume: 0.3 });
      // Stream 8 plays an input at output 0. Stream 9 belongs to another program, and stream 10 to the
      // player.
      const streamOfInput = stream(8, { output: 'output-0', input: 'turntable' });
      node.change(terrace, streamOfInput, stream(9, { output: 'output-1' }), stream(10, playerStreamFields));
      const assertSentTo = async (id: number, command: object, act: () => Promise<void>): Promise<void> => {
        const expected = { ...command, target: { kind: 'output', ref: String(id) } };
        forgetCommands();
        await act();
        await until(`the command is ${JSON.stringify(expected)}`, () =>
          isDeepStrictEqual(commandsOf(node), [expected]),
        );
      };
      const mute = (label: string) =>
        card(label)
          .getByRole('button', { name: `Mute ${label}` })
          .click();
      await assertSentTo(0, { do: 'mute', muted: true }, () => mute('Living room'));
      await assertSentTo(0, { do: 'volume', volume: 0 }, () => allRoomsSlider().press('Home'));

      // Now no stream has the player's process id, as with mpDris2, whose sound comes from another process.
      // So the page takes the first stream that is not paused and plays no input. This is stream 9.
      node.change(player('mpd', { pid: 1 }), drop('audio.clients', '10'));
      await assertSentTo(1, { do: 'mute', muted: true }, () => mute('Terrace'));
      await assertSentTo(1, { do: 'volume', volume: 1 }, () => allRoomsSlider().press('End'));
    });

    test("a room without a sound card has neither the name nor the volume of the sound server's placeholder", async () => {
      await openHouse('Living room', 'Kitchen');
      // The sound server has this placeholder only while it has no other output.
      house
        .room('Kitchen')
        .change(output(0, { name: 'auto_null', description: 'Dummy Output', default: true }));
      // Without an output, the room has the name of its host, which is `kitchen`.
      await card('kitchen').waitFor();
      assert.equal(await card('kitchen').getByRole('slider').count(), 0);
    });

    test('the volume of all rooms can be set again after the only room has lost its output during a change of the volume', async () => {
      await openHouse('Living room');
      const node = house.room('Living room');
      const livingRoomOutput = output(0, { description: 'Living room', default: true, volume: 0.4 });
      const commandAnswer = node.backends.hold();
      await allRoomsSlider().press('ArrowUp');
      await until('the first volume has come', () => commandsOf(node).length === 1);
      // The slider sends the second volume after the answer to the first one.
      await allRoomsSlider().press('ArrowUp');
      node.change(drop('audio.outputs', '0'));
      await until('the slider is disabled', () => allRoomsSlider().isDisabled());
      commandAnswer.resolve({ ok: true, value: {} });
      await until('the slider is at 0', async () => {
        return (await allRoomsSlider().inputValue()) === '0';
      });
      node.change(livingRoomOutput);
      await until('the slider is enabled', () => allRoomsSlider().isEnabled());

      forgetCommands();
      await allRoomsSlider().press('Home');
      const expected = { do: 'volume', target: ONLY_OUTPUT, volume: 0 };
      await until('the volume has come', () => isDeepStrictEqual(commandsOf(node).at(-1), expected));
    });

    test('a room that goes away is marked as away, and comes back at another address', async () => {
      await openHouse(...THREE_ROOMS);
      await house.close('Attic');
      house.announce();
      await card('Attic').getByText('Not there right now').waitFor();
      assert.ok(await card('Attic').getByRole('slider').isDisabled());

      house.open('Attic', NEW_ADDRESS);
      house.announce();
      await until('the attic is back', () => card('Attic').getByRole('slider').isEnabled());
      assert.equal(await card('Attic').getByRole('link').getAttribute('href'), house.room('Attic').url);
      await card('Attic').getByRole('button', { name: 'Mute Attic' }).click();
      await until('the attic has a command', () => commandsOf(house.room('Attic')).length === 1);
    });

    test('a room that loses its output and then goes away keeps the name of its output', async () => {
      await openHouse(...THREE_ROOMS);
      // When a machine is switched off, its sound server may end before the node goes away.
      house.room('Attic').change(drop('audio.outputs', '0'));
      // While the node is live without an output, its room has the host name `attic`
      // (src/page/use-house.tsx).
      await card('Attic').waitFor({ state: 'detached' });
      await house.close('Attic');
      await card('Attic').getByText('Not there right now').waitFor();
    });

    test('a card does not say `Can only be controlled on its own page` while the page connects to the second address of the node', async () => {
      house = new HouseOfNodes(...THREE_ROOMS);
      house.addAddress('Attic', NEW_ADDRESS);
      // No node listens at NEW_ADDRESS, which is the first address of the attic now. The connection to the
      // second address never succeeds, because the request for its stream gets no answer.
      const secondAddress = addressOf(THREE_ROOMS.indexOf('Attic'));
      const streamUrl = `http://${secondAddress}:*/events*`;
      await page.route(streamUrl, () => undefined);
      const streamRequest = page.waitForRequest(streamUrl);
      await page.goto(`${house.room('Living room').url}?view=house`);
      await streamRequest;
      // Until the node's state is known, the room has the name that the node announces (src/page/house.ts).
      const attic = card('tonearm on attic');
      await until('the link has the second address', async () => {
        return (await attic.getByRole('link').getAttribute('href')) === house.room('Attic').url;
      });
      assert.equal(await attic.getByText('Can only be controlled on its own page').count(), 0);
    });

    test('a renamed room is still one room, with its new name', async () => {
      await openHouse(...THREE_ROOMS);
      house.rename('Attic', 'Studio');
      await card('Studio').getByRole('slider').waitFor();
      await until('there are three rooms', async () => (await page.locator('.room').count()) === 3);
      assert.equal(await card('Attic').count(), 0);
    });

    test('a card has a link and no controls if the node of the room does not know the node that serves the page', async () => {
      await openHouse(...THREE_ROOMS);
      const pageNode = 'Living room';
      const forgetfulNode = 'Attic';
      house.forget(pageNode, forgetfulNode);
      await page.reload();
      // The attic refuses the requests of this page, so the page does not know the state of the attic. The
      // card therefore has the name that the node of the attic announces.
      await card('tonearm on attic').getByText('Can only be controlled on its own page').waitFor();
      assert.equal(await card('tonearm on attic').getByRole('slider').count(), 0);
      await card('Kitchen').getByRole('slider').waitFor();
    });

    test('the card of a node with a public host or another API has a link and no controls, and the page requests nothing from the public host', async () => {
      house = new HouseOfNodes(...THREE_ROOMS);
      const forged: NodeRecord = {
        name: 'forged',
        host: 'evil.example',
        addresses: ['93.184.215.14'],
        port: 80,
        path: '/ui',
        api: 'tonearm',
        self: false,
      };
      const requestedUrls: string[] = [];
      page.on('request', (request) => requestedUrls.push(request.url()));
      const otherKind = {
        ...forged,
        name: 'other kind',
        host: 'radio.local',
        addresses: ['10.9.0.9'],
        api: 'odio-api' as const,
      };
      // The page can make no URL of this record, but must go on with the next records.
      const withoutUrl = { ...forged, name: 'without URL', host: 'attic%.local', addresses: [] };
      house.announce(withoutUrl, forged, otherKind);
      await showHouse();
      await card('forged').getByText('Can only be controlled on its own page').waitFor();
      await card('other kind').getByText('Opens its own page').waitFor();
      assert.equal(await card('other kind').getByRole('link').getAttribute('href'), 'http://10.9.0.9/ui');
      assert.deepEqual(
        requestedUrls.filter((url) => /evil|93\.184/.test(url)),
        [],
      );
    });

    test('the heading opens a menu with each room, the title that the room plays, and a button that pauses the room', async () => {
      house = new HouseOfNodes(...THREE_ROOMS);
      await page.goto(house.room('Living room').url);
      await page.locator('.house summary').click();
      const item = page.locator('.room-menu li').filter({ hasText: 'Kitchen' });
      await item.getByText('Nocturne in E-flat major').waitFor();
      await item.getByRole('button', { name: 'Pause: Kitchen' }).click();
      await until('the kitchen has a command', () => commandsOf(house.room('Kitchen')).length === 1);
      await page.getByRole('link', { name: 'All rooms' }).click();
      await card('Attic').getByRole('slider').waitFor();
    });

    test('the button of a room in the menu continues the player that it has paused, also if the menu was closed meanwhile', async () => {
      house = new HouseOfNodes('Living room', 'Kitchen');
      const kitchen = house.room('Kitchen');
      // The stopped player becomes the first player of the room. The button must not act on this player.
      const stopped = player('airplay', { playback_status: 'Stopped', metadata: {} });
      kitchen.change(drop('players', 'org.mpris.MediaPlayer2.mpd'), stopped, player('mpd'));
      await page.goto(house.room('Living room').url);
      const menu = page.locator('.house summary');
      await menu.click();
      await page.getByRole('button', { name: 'Pause: Kitchen' }).click();
      const pause = { do: 'pause', player: 'org.mpris.MediaPlayer2.mpd' };
      await until('the command to pause has come', () => isDeepStrictEqual(commandsOf(kitchen), [pause]));
      kitchen.change(player('mpd', { playback_status: 'Paused' }));
      const play = page.getByRole('button', { name: 'Play: Kitchen' });
      await play.waitFor();
      await menu.click();
      await page.locator('.room-menu').waitFor({ state: 'detached' });
      await menu.click();
      await play.click();
      await until('a second command has come', () => commandsOf(kitchen).length > 1);
      assert.deepEqual(commandsOf(kitchen), [pause, { ...pause, do: 'play' }]);
    });

    test('a menu of rooms that is closed while the page probes the addresses of a room opens no stream to this room', async () => {
      house = new HouseOfNodes(...THREE_ROOMS);
      // No node listens at NEW_ADDRESS, which is the first address of the attic now. When the page cannot
      // connect to it, the page probes both addresses (src/page/room-connection.ts).
      house.addAddress('Attic', NEW_ADDRESS);
      const origin = new URL(house.room('Attic').url).origin;
      const streamUrls: string[] = [];
      page.on('request', (request) => {
        if (request.url().startsWith(`${origin}/events`)) streamUrls.push(request.url());
      });
      await page.goto(house.room('Living room').url);
      const menu = page.locator('.house summary');
      const attic = page.locator('.room-menu li').filter({ hasText: 'Attic' });
      const probeRoute = new Promise<Route>((resolve) => {
        void page.route(`${origin}/server`, resolve, { times: 1 });
      });
      await menu.click();
      const probe = await probeRoute;
      await menu.click();
      await page.locator('.room-menu').waitFor({ state: 'detached' });
      await probe.continue();

      await menu.click();
      await attic.getByText('Nocturne in E-flat major').waitFor();
      // This one stream is for the menu that is open now, so the closed menu has opened none.
      assert.equal(streamUrls.length, 1);
    });

    test('a slider that is scrolled to the place of the header is behind the header', async () => {
      await openHouse(...THREE_ROOMS);
      await page.setViewportSize({ width: 360, height: 500 });
      assert.equal(await page.evaluate(FRONT_AT_THUMB), 'HEADER');
    });

    test('many tabs of the browser share one stream to each room', async () => {
      await openHouse(...THREE_ROOMS);
      const tabs: Page[] = [];
      // A browser opens at most six connections to a node (docs/http-api.md, "The page").
      for (let opened = 0; opened < 7; opened += 1) {
        const tab = await browser.context.newPage();
        tabs.push(tab);
        await tab.goto(page.url());
        const sliders = tab.locator('.room').getByRole('slider');
        await sliders.nth(THREE_ROOMS.length - 1).waitFor();
      }
      const kitchenHealth = async () =>
        (await house.room('Kitchen').json('/health')) as { streams: { open: number } };
      await until('the kitchen has one open stream', async () => (await kitchenHealth()).streams.open === 1);
      await Promise.all(tabs.map((tab) => tab.close()));
    });

    test('a page with sixteen rooms shows the changes of all rooms, even on a slow processor', async () => {
      const names = Array.from({ length: ROOMS_MAX }, (_, room) => `Room ${room + 1}`);
      house = new HouseOfNodes(...names);
      const session = await page.context().newCDPSession(page);
      await session.send('Emulation.setCPUThrottlingRate', { rate: TIMES_SLOWER });
      await showHouse();
      for (const node of house.rooms.values())
        node.change(output(0, { default: true, volume: 0.55, description: node.hostname }));
      await until('all rooms show their new volume', async () => {
        const sliders = await page.locator('.room').getByRole('slider').all();
        const values = await Promise.all(sliders.map((slider) => slider.inputValue()));
        return values.length === ROOMS_MAX && values.every((value) => value === '55');
      });
    });
  });
});
