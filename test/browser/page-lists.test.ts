// Tests three lists of the page on a phone: the nodes of the house, a player's tracks, and Bluetooth
// devices.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { drop, put } from '../gateway/scripted-backends.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { bluetooth, discoveredNode, PAIRED_PHONE, player } from './node-with-page.js';
import { commandsAre, node, openTab, PHONE, page, pageForEach } from './pages.js';

const VLC = 'org.mpris.MediaPlayer2.vlc';
const MPD = 'org.mpris.MediaPlayer2.mpd';
const TRACKS = ['One', 'Two'].map((title, index) => ({
  track_id: `/list/${index}`,
  metadata: { 'xesam:title': title, 'xesam:artist': 'Somebody' },
}));
/** A tracklist whose event would be longer than the stream allows, so the event has only the first tracks. */
const longList = (title: string) => ({
  can_edit_tracks: false,
  tracks: Array.from({ length: 60 }, (_, index) => ({
    track_id: `/list/${index}`,
    metadata: { 'xesam:title': `${title} ${index}`, 'xesam:comment': 'x'.repeat(4_000) },
  })),
});
/** A removal can be undone for this time, and is sent afterwards (src/page/tracklist.tsx). */
const UNDO_MS = 5000;
/** After the node's answer, the page waits at most this long for a connection (src/page/bluetooth.tsx). */
const LATE_CONNECTION_MS = 20_000;
/** The name of a tracklist of which the page knows only the first tracks. */
const LONG_LIST_NAME = /^Tracks \(\d+\+\)$/;
const SPEAKER = {
  ...PAIRED_PHONE,
  address: 'AA:BB:CC:DD:EE:02',
  name: 'Speaker',
  paired: false,
  connected: true,
};

describe('three lists of the page', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  pageForEach(PHONE);

  test('the page links to the nodes of the house, marks its own node, and removes a node that goes away', async () => {
    node.up();
    await page.goto(node.url);
    await page.locator('h1').waitFor();
    assert.equal(await page.locator('.house').count(), 0);

    // A link to this path alone would lead to another host, so the node's address must stand before the path.
    const strangeNode = discoveredNode('attic', { addresses: ['2001:db8::1'], path: '//evil.example' });
    node.change(
      discoveredNode('kitchen', { self: true }),
      strangeNode,
      discoveredNode('cellar', { addresses: [] }),
    );
    await page.locator('.house summary').click();
    const links = page.locator('.house a');
    await links.nth(3).waitFor();
    const displayedLinks = await links.evaluateAll((elements) =>
      elements.map((link) => [
        (link.querySelector('bdi') ?? link).textContent,
        link.getAttribute('href'),
        link.getAttribute('aria-current'),
      ]),
    );
    // The page's own node is announced as `kitchen`. The link to it has the label of the node's main output.
    assert.deepEqual(displayedLinks, [
      ['All rooms', '?view=house', null],
      ['Living room', '#', 'page'],
      ['attic', 'http://[2001:db8::1]:8018//evil.example', null],
      ['cellar', 'http://cellar.local:8018/ui', null],
    ]);
    const heading = page.locator('.house h1');
    const cutOffPx = await heading.evaluate((element) => element.scrollWidth - element.clientWidth);
    assert.equal(cutOffPx, 0);

    await page.keyboard.press('Escape');
    await until('the menu closes', async () => !(await links.first().isVisible()));
    await page.locator('.house summary').click();
    node.change(drop('nodes', 'attic'));
    await until('the link is gone', async () => (await links.count()) === 3);
    await page.locator('main').click({ position: { x: 2, y: 2 } });
    await until('the menu closes', async () => !(await links.first().isVisible()));
  });

  test("the page plays, removes and adds a player's tracks, and offers no change of a list that cannot be edited", async () => {
    node.up({ players: [player('vlc', { tracklist_supported: true })] });
    const editableList = { can_edit_tracks: true, tracks: TRACKS };
    node.change(put('players.tracklist', VLC, editableList));
    await page.clock.install();
    await page.goto(node.url);
    await page.getByText('Tracks (2)').click();
    await page.getByRole('button', { name: 'Play Two' }).click();
    await page.getByRole('button', { name: 'Remove One' }).click();
    await page.getByText('Removed', { exact: true }).waitFor();
    await page.clock.runFor(UNDO_MS);
    await page.getByRole('textbox').fill('http://radio.example/stream');
    await page.getByRole('button', { name: 'Add' }).click();
    await commandsAre(
      { do: 'goto', player: VLC, track: '/list/1' },
      { do: 'remove', player: VLC, track: '/list/0' },
      { do: 'add', player: VLC, uri: 'http://radio.example/stream' },
    );
    node.change(put('players.tracklist', VLC, { ...editableList, can_edit_tracks: false }));
    await until('the list cannot be edited', async () => (await page.getByRole('textbox').count()) === 0);
    assert.equal(await page.getByRole('button', { name: 'Remove One' }).count(), 0);
  });

  test('the page undoes the removal of a track by a button in the place of the pressed button, and sends a removal at once if the list is closed', async () => {
    node.up({ players: [player('vlc', { tracklist_supported: true })] });
    node.change(put('players.tracklist', VLC, { can_edit_tracks: true, tracks: TRACKS }));
    await page.clock.install();
    await page.goto(node.url);
    await page.getByText('Tracks (2)').click();
    const remove = page.getByRole('button', { name: 'Remove One' });
    // A click may scroll the page, so the page is scrolled before the place of the button is measured.
    await remove.scrollIntoViewIfNeeded();
    const place = await remove.boundingBox();
    await remove.click();

    const keep = page.getByRole('button', { name: 'Keep One' });
    assert.deepEqual(await keep.boundingBox(), place);
    await keep.click();
    // If the button had not undone the removal of One, the page would send it in this time.
    await page.clock.runFor(UNDO_MS + 1000);

    await page.getByRole('button', { name: 'Remove Two' }).click();
    await page.getByText('Tracks (2)').click();
    await commandsAre({ do: 'remove', player: VLC, track: '/list/1' });
  });

  test('the page offers no undo while the request to remove a track has no answer', async () => {
    node.up({ players: [player('vlc', { tracklist_supported: true })] });
    node.change(put('players.tracklist', VLC, { can_edit_tracks: true, tracks: TRACKS }));
    const removalAnswer = node.backends.hold();
    await page.clock.install();
    await page.goto(node.url);
    await page.getByText('Tracks (2)').click();
    await page.getByRole('button', { name: 'Remove One' }).click();
    await page.clock.runFor(UNDO_MS);
    await page.getByRole('button', { name: 'Keep One', disabled: true }).waitFor();

    removalAnswer.resolve({ ok: false, error: { fault: 'refused', detail: 'No' } });
    await page.getByRole('button', { name: 'Remove One', disabled: false }).waitFor();
  });

  test('the page fetches the rest of a long tracklist when the list is opened', async () => {
    const list = longList('Long');
    node.up({ players: [player('vlc', { tracklist_supported: true })] });
    node.change(put('players.tracklist', VLC, list));
    await page.goto(node.url);
    await page.getByText(LONG_LIST_NAME).click();
    const buttons = page.getByRole('button', { name: /^Play Long/ });
    await until('all tracks are there', async () => (await buttons.count()) === list.tracks.length);
  });

  test('the page shows the first tracks of a player that becomes the large one, while the request for all tracks has no answer', async () => {
    const vlc = { identity: 'VLC', tracklist_supported: true };
    const mpd = { identity: 'MPD', tracklist_supported: true };
    node.up({ players: [player('vlc', vlc)] });
    node.change(put('players.tracklist', VLC, longList('Old')));
    node.change(put('players.tracklist', MPD, longList('New')));
    await page.clock.install();
    await page.goto(node.url);
    await page.getByText(LONG_LIST_NAME).click();
    await page.getByRole('button', { name: 'Play Old 59' }).waitFor();

    // The request for all tracks of MPD gets no answer.
    await page.route(`**/${MPD}/tracklist`, () => undefined);
    // The large player changes only when nobody has touched it for a while (`KEPT_AFTER_TOUCH_MS` in
    // src/page/main-volume.tsx).
    await page.clock.runFor(5000);
    node.change(player('vlc', { ...vlc, playback_status: 'Paused' }), player('mpd', mpd));
    await page.getByRole('article', { name: 'MPD' }).waitFor();
    // The page has the first tracks from the stream, and draws them shortly after the card.
    await page.getByRole('button', { name: 'Play New 0' }).waitFor();
  });

  const bluetoothSection = (): Locator => page.locator('#bluetooth');
  const button = (name: string): Locator => bluetoothSection().getByRole('button', { name, exact: true });
  const waitForText = (text: string | RegExp): Promise<void> => bluetoothSection().getByText(text).waitFor();

  test('the page shows how long a phone can still be paired, and lists the phone afterwards', async () => {
    node.up({ bluetooth: [bluetooth({ known_devices: [] })] });
    await page.goto(node.url);
    await openTab('Sound');
    await waitForText('There are no devices yet.');
    node.backends.answer = { ok: true, value: {} };
    await button('Pair a phone').click();
    const pairing_until = new Date(Date.now() + 60_000).toISOString();
    node.change(bluetooth({ known_devices: [], pairing_active: true, pairing_until }));
    const sheet = page.getByRole('dialog', { name: 'Pair a phone' });
    await sheet.getByText('living-room').waitFor();
    await sheet.getByText(/^\d+ s$/).waitFor();
    await sheet.getByRole('button', { name: 'Stop pairing' }).click();
    await commandsAre({ do: 'pairing_mode' }, { do: 'pairing_mode/stop' });
    node.change(bluetooth());
    await waitForText('Connected · Battery 80%');
    await button('Pair a phone').waitFor();
  });

  test("the page counts the seconds of a pairing by the node's clock, which is an hour behind the browser's clock", async () => {
    await page.clock.install({ time: Date.now() + 3_600_000 });
    const pairingSeconds = 600;
    const pairing_until = new Date(Date.now() + pairingSeconds * 1000).toISOString();
    // Without events of a player, the page knows the node's time only from the header `Date` of a response.
    node.up({ players: [], bluetooth: [bluetooth({ pairing_active: true, pairing_until })] });
    await page.goto(node.url);
    const time = page.getByRole('dialog').getByRole('timer');
    const seconds = Number.parseInt((await time.textContent()) ?? '', 10);
    // A page that counted by its own clock would be wrong by 3600 s. The 300 s are for a busy machine.
    assert.ok(Math.abs(seconds - pairingSeconds) < 300, String(seconds));
  });

  test('the page shows no pairing while Bluetooth or the node is away, and no advice to connect a phone while Bluetooth is away', async () => {
    const pairing_until = new Date(Date.now() + 3_600_000).toISOString();
    node.up({ players: [], audio: [], bluetooth: [bluetooth({ pairing_active: true, pairing_until })] });
    await page.goto(node.url);
    const sheet = page.getByRole('dialog', { name: 'Pair a phone' });
    const advice = page.getByText(/^Choose .* in Bluetooth$/);
    await sheet.waitFor();
    await advice.waitFor();

    node.health('bluetooth', 'connecting');
    await sheet.waitFor({ state: 'detached' });
    await advice.waitFor({ state: 'detached' });
    node.health('bluetooth', 'up');
    await sheet.waitFor();
    await advice.waitFor();

    // If requests for `/server` fail, the page assumes that the node is away.
    await page.route('**/server', (route) => route.abort());
    await sheet.waitFor({ state: 'detached' });
    await page.unroute('**/server');
    await sheet.waitFor();

    await sheet.getByRole('button', { name: 'Close' }).click();
    await sheet.waitFor({ state: 'detached' });
    node.health('bluetooth', 'connecting');
    await advice.waitFor({ state: 'detached' });
    node.health('bluetooth', 'up');
    await advice.waitFor();
    assert.equal(await sheet.count(), 0, 'a closed sheet stays closed');
  });

  test('the page sends the commands of the Bluetooth section: scan, connect, disconnect, forget and power up', async () => {
    node.up();
    await page.goto(node.url);
    await openTab('Sound');
    node.backends.answer = { ok: true, value: {} };
    await button('Look for speakers').click();
    node.change(bluetooth({ scanning: true }));
    await button('Stop looking').waitFor();
    node.change(put('bluetooth.discovered', SPEAKER.address, { ...SPEAKER, connected: false }));
    await button('Connect Speaker').click();
    await button('Disconnect My phone').click();
    await button('More of My phone').click();
    await button('Forget My phone').click();
    node.change(bluetooth({ known_devices: [], powered: false }));
    await until('the button is disabled', () => button('Connect Speaker').isDisabled());
    await button('Look for speakers').click();
    await bluetoothSection().getByRole('switch', { name: 'Bluetooth' }).click();
    await commandsAre(
      { do: 'scan' },
      { do: 'connect', address: SPEAKER.address },
      { do: 'disconnect', address: PAIRED_PHONE.address },
      { do: 'forget', address: PAIRED_PHONE.address },
      { do: 'scan' },
      { do: 'power_up' },
    );
    assert.equal(await page.locator('.notice').count(), 0);
  });

  test('the page marks the button of a device as busy until the device is connected, and reports a device that is not connected in time', async () => {
    const speaker = { ...SPEAKER, paired: true, connected: false };
    const headset = { ...speaker, address: 'AA:BB:CC:DD:EE:03', name: 'Headset' };
    node.up({ bluetooth: [bluetooth({ known_devices: [speaker, headset] })] });
    await page.clock.install();
    await page.goto(node.url);
    await openTab('Sound');
    node.backends.answer = { ok: true, value: {} };
    const isBusy = (name: string) => button(name).and(page.locator('[aria-busy=true]'));
    await button('Connect Speaker').click();
    await button('Connect Headset').click();
    await commandsAre(
      { do: 'connect', address: speaker.address },
      { do: 'connect', address: headset.address },
    );
    // The page begins to wait for a device when the node has answered the command for this device.
    await page.clock.runFor(LATE_CONNECTION_MS / 2);
    await isBusy('Connect Headset').waitFor();
    node.change(bluetooth({ known_devices: [{ ...speaker, connected: true }, headset] }));
    await button('Disconnect Speaker').waitFor();
    await until('the speaker is not busy', async () => (await isBusy('Disconnect Speaker').count()) === 0);
    await isBusy('Connect Headset').waitFor();

    await page.clock.runFor(LATE_CONNECTION_MS / 2 + 1000);
    await page.getByText('Connect Headset did not work: there was no answer in time').waitFor();
    await until('the headset is not busy', async () => (await isBusy('Connect Headset').count()) === 0);
    assert.equal(await page.locator('.notice').count(), 1);
  });

  /**
   * Each step publishes that no scan runs, and then moves the page's clock by 4 s. The clock also goes on by
   * itself. The events of the steps keep the connection. Without events, the page would connect again, and
   * would forget the found devices.
   */
  const runStepsAfterScan = async (first: number, last: number): Promise<void> => {
    for (let step = first; step <= last; step += 1) {
      node.change(bluetooth({ known_devices: [], name: `step ${step}.` }));
      await waitForText(`step ${step}.`);
      await page.clock.runFor(4000);
    }
  };

  test('the page removes a device that the node forgets, and keeps a found device for half a minute after the scan', async () => {
    const found = (device: object) => put('bluetooth.discovered', SPEAKER.address, device);
    await page.clock.install();
    node.up({ bluetooth: [bluetooth({ scanning: true, known_devices: [] })] });
    await page.goto(node.url);
    await openTab('Sound');
    await button('Stop looking').waitFor();
    node.change(found(SPEAKER));
    await button('Disconnect Speaker').waitFor();
    node.change(bluetooth({ scanning: true, known_devices: [SPEAKER] }));
    await button('More of Speaker').waitFor();
    node.change(bluetooth({ scanning: true, known_devices: [] }));
    await button('Disconnect Speaker').waitFor({ state: 'detached' });

    node.change(found({ ...SPEAKER, connected: false }));
    await button('Connect Speaker').waitFor();
    // Four steps take 16 s of the 30 s. The rest is a reserve for a busy machine.
    await runStepsAfterScan(1, 4);
    assert.equal(await button('Connect Speaker').count(), 1);
    await runStepsAfterScan(5, 8);
    await button('Connect Speaker').waitFor({ state: 'detached' });
  });

  test('the page keeps a found device and its busy button until the attempt to connect the device has failed', async () => {
    await page.clock.install();
    node.up({ bluetooth: [bluetooth({ scanning: true, known_devices: [] })] });
    await page.goto(node.url);
    await openTab('Sound');
    await button('Stop looking').waitFor();
    node.change(put('bluetooth.discovered', SPEAKER.address, { ...SPEAKER, connected: false }));
    await button('Connect Speaker').waitFor();
    await runStepsAfterScan(1, 5);
    node.backends.answer = { ok: true, value: {} };
    await button('Connect Speaker').click();
    await commandsAre({ do: 'connect', address: SPEAKER.address });
    // All eight steps take 32 s, so only the attempt to connect the device keeps it in the list.
    await runStepsAfterScan(6, 8);
    await button('Connect Speaker').and(page.locator('[aria-busy=true]')).waitFor();
    // The notice lasts ten seconds of the page's clock, so the test checks for it after each step.
    const notice = page.getByText('Connect Speaker did not work: there was no answer in time');
    for (let step = 9; step <= 20 && !(await notice.isVisible()); step += 1)
      await runStepsAfterScan(step, step);
    await notice.waitFor();
    await button('Connect Speaker').waitFor({ state: 'detached' });
  });
});
