// Tests the requests that the page sends for clicks, keys and drags, and how the page shows the answers. The
// backends are scripted. The tests of the real backends show the effects of the requests.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { drop, put } from '../gateway/scripted-backends.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { spotOn } from './finger.js';
import { ORDINARY, service, stream, upgrade } from './node-with-page.js';
import { commandsAre, nextCommand, node, openPage, page, pageForEach } from './pages.js';

const MPD = { scope: 'user', unit: 'mpd.service' };
const PLAYER = 'org.mpris.MediaPlayer2.mpd';
const MUTE_LIVING_ROOM = { do: 'mute', target: { kind: 'output', ref: '0' }, muted: true };

/** Controls, and the command that each sends. */
const ROWS: readonly (readonly [role: 'button' | 'switch', name: string, command: object])[] = [
  ['button', 'Restart Music Player Daemon', { do: 'restart', ...MPD }],
  ['button', 'Stop Music Player Daemon', { do: 'stop', ...MPD }],
  ['switch', 'Start Music Player Daemon automatically', { do: 'disable', ...MPD }],
  ['button', 'Start AirPlay receiver', { do: 'start', scope: 'user', unit: 'shairport-sync.service' }],
  ['button', 'Use Kitchen', { do: 'default', output: '1', move: true }],
  ['button', 'Check now', { do: 'check' }],
  ['button', 'Pause', { do: 'pause', player: PLAYER }],
  ['button', 'Next', { do: 'next', player: PLAYER }],
  ['button', 'Shuffle', { do: 'shuffle', player: PLAYER, shuffle: true }],
  ['button', 'Repeat: off', { do: 'loop', player: PLAYER, loop: 'Playlist' }],
];

const streams = (from: number, to: number, more: object = {}) =>
  Array.from({ length: to - from + 1 }, (_, index) => stream(from + index, more));

describe('the page', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  pageForEach({ locale: 'en-GB', viewport: { width: 1280, height: 1800 } });
  beforeEach(() => openPage());

  const button = (name: string | RegExp): Locator => page.getByRole('button', { name, exact: true });
  const choose = (name: string, option: string): Promise<unknown> =>
    page.getByRole('combobox', { name }).selectOption(option);
  const focusedProperty = (property: string): Promise<unknown> =>
    page.evaluate(`document.activeElement.${property}`);

  test('the page sends the command of each control when the Enter key presses it', async () => {
    await page.locator('#services').getByRole('button', { name: 'More of Music Player Daemon' }).click();
    for (const [role, name, command] of ROWS) {
      await page.getByRole(role, { name, exact: true }).press('Enter');
      assert.deepEqual(await nextCommand(), command);
    }
  });

  test('the page sends a port, a profile, a balance, and a position in a track', async () => {
    await button('More of Living room').click();
    await choose('Socket of Living room', 'headphones');
    assert.deepEqual(await nextCommand(), { do: 'port', output: '0', port: 'headphones' });
    await choose('Profile of HiFi HAT', 'HDMI (not plugged in)');
    assert.deepEqual(await nextCommand(), { do: 'profile', card: '3', profile: 'hdmi' });
    await page.getByRole('slider', { name: 'Balance of Living room' }).press('Home');
    assert.deepEqual(await nextCommand(), { do: 'balance', output: '0', balance: -1 });
    await page.getByRole('slider', { name: /^Position in Nocturne/ }).press('Home');
    assert.deepEqual(await nextCommand(), {
      do: 'position',
      player: PLAYER,
      position: 0,
      track_id: '/track/1',
    });
  });

  test('the page starts an upgrade only after a question that names the version, and offers no upgrade without a newer version', async () => {
    // The characters around the version isolate its writing direction (`isolated` in src/page/language.ts).
    const upgradeButton = button('Upgrade to \u20681.5.0\u2069');
    await upgradeButton.click();
    const dialog = page.getByRole('dialog', { name: 'Upgrade to \u20681.5.0\u2069?' });
    await dialog.getByText('The node may restart.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    // The cancelled question sends nothing, so the next command is that of the button.
    await button('Mute Living room').click();
    await commandsAre(MUTE_LIVING_ROOM);
    await upgradeButton.press('Enter');
    await dialog.getByRole('button', { name: 'Upgrade to' }).press('Enter');
    assert.deepEqual(await nextCommand(), { do: 'start' });
    const withoutNewerVersion = upgrade({});
    node.change(...withoutNewerVersion);
    await page.getByText('Up to date').waitFor();
    assert.equal(await button(/^Upgrade/).count(), 0);
  });

  test('the page shows that a check for upgrades runs, and why the check has failed', async () => {
    const commandAnswer = node.backends.hold();
    await button('Check now').click();
    await page.getByText('Checking').waitFor();
    const detail = 'Main process exited, code=exited, status=2/INVALIDARGUMENT';
    commandAnswer.resolve({ ok: false, error: { fault: 'refused', detail } });
    await page.getByText('The check for upgrades failed: exit status 2').waitFor();
    await button('Check now').waitFor();
  });

  test('the page remembers the last step of an upgrade after the node has forgotten this step, and offers the log of a failed upgrade', async () => {
    const running = { state: 'running', origin: 'systemd', started_at: '2026-01-01T10:00:00Z' };
    node.change(...upgrade({}, running, { percent: 37, step: 'Unpacking' }));
    const progress = { event: 'progress', percent: 40, current: 4, step: 'Restarting the service' };
    node.change(put('upgrade.progress', '', progress));
    const step = page.getByText('Restarting the service');
    await step.waitFor();

    // After a restart, the backend knows that the upgrade runs, but does not know the step.
    node.health('upgrade', 'connecting');
    await step.waitFor({ state: 'detached' });
    node.change(...upgrade({}, running));
    node.health('upgrade', 'up');
    await step.waitFor();

    const failed = { ...running, state: 'failed', finished_at: '2026-01-01T10:05:00Z' };
    node.change(...upgrade({}, failed));
    await page.getByText(/The last upgrade failed, .*, at the step: .*Restarting the service/).waitFor();
    const entry = { time: '2026-01-01T10:05:00.000Z', priority: 3, message: 'No space left on device' };
    node.backends.answer = { ok: true, value: { text: JSON.stringify([entry]) } };
    await page.getByLabel('Log: Upgrade').click();
    await page.getByText('No space left on device').waitFor();
    assert.deepEqual(await nextCommand(), { do: 'log', lines: 20 });
  });

  test('the page sends a power action only after a question that names the node, and sends nothing if Escape closes the question', async () => {
    await button('Switch off').click();
    const dialog = page.getByRole('dialog', { name: /Switch off .*living-room/ });
    await dialog.waitFor();
    assert.equal(await focusedProperty('textContent'), 'Cancel');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    // The closed question sends nothing, so the next command is that of the button.
    await button('Mute Living room').click();
    await commandsAre(MUTE_LIVING_ROOM);

    await button('Switch off').press('Enter');
    await dialog.waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.deepEqual(await nextCommand(), { do: 'poweroff' });
    await dialog.waitFor({ state: 'hidden' });
  });

  test('the page shows the first eight of many streams until a button shows all, and shows all again after an outage of the sound server', async () => {
    const streamsAre = (count: number) =>
      until(`${count} streams are shown`, async () => (await page.locator('.stream').count()) === count);
    /**
     * Resolves with the height of the section of the streams, and the left edge of the section of the units.
     * The height is undefined while there is no section of the streams. The edge shows the units' column.
     */
    const layout = (): Promise<unknown[]> =>
      page.evaluate(`[
        document.querySelector('#streams')?.offsetHeight,
        document.querySelector('#services').offsetLeft,
      ]`);

    // The node already has the stream `Doorbell`, which belongs to no player (`ORDINARY` in
    // node-with-page.ts). With eight more there are nine.
    node.change(...streams(100, 107));
    await streamsAre(9);
    // A button would hide only one row, so the page draws this row instead (`FIRST_ROWS` in streams.tsx).
    assert.equal(await page.locator('.fold').count(), 0, 'no button hides the ninth stream');

    node.change(...streams(108, 150));
    const unfoldButton = button('44 more sounds');
    await unfoldButton.waitFor();
    await streamsAre(8);
    const foldedLayout = await layout();

    await unfoldButton.press('Enter');
    await streamsAre(52);
    assert.equal(await unfoldButton.getAttribute('aria-expanded'), 'true');
    assert.equal(await focusedProperty('textContent'), '44 more sounds');
    await page.keyboard.press('Tab');
    assert.equal(
      await focusedProperty('ariaLabel'),
      'Output of Stream 107',
      'the first stream that was hidden comes next',
    );

    node.health('audio', 'connecting');
    await page.locator('#streams').waitFor({ state: 'detached' });
    const [, servicesLeft] = foldedLayout;
    assert.deepEqual(await layout(), [undefined, servicesLeft], 'the units stay in their column');

    node.change(...ORDINARY.audio, ...streams(100, 150));
    node.health('audio', 'up');
    await streamsAre(52);
    await unfoldButton.press('Enter');
    await streamsAre(8);
    assert.deepEqual(await layout(), foldedLayout, 'the layout is the same as before the first press');
  });

  test('the page sends the volume of a stream far down the list, also while all streams change', async () => {
    // With `Doorbell` there are 63 streams, of which the first eight are visible.
    node.change(...streams(100, 161));
    await button('55 more sounds').click();
    await page.getByText('Stream 161', { exact: true }).scrollIntoViewIfNeeded();
    node.change(...streams(100, 161, { volume: 0.3 }));
    for (const name of ['Stream 161', 'Stream 101']) {
      const volume = page.getByRole('slider', { name: `Volume of ${name}` });
      await until(`the volume of ${name} is shown`, async () => (await volume.inputValue()) === '30');
    }
    await page.getByRole('slider', { name: 'Volume of Stream 160' }).press('Home');
    assert.deepEqual(await nextCommand(), {
      do: 'volume',
      target: { kind: 'client', ref: '160' },
      volume: 0,
    });
  });

  /** Presses the mouse button on the first handle, and begins a drag. */
  const dragFirstStream = async (): Promise<void> => {
    const handle = page.locator('.drag-handle').first();
    await handle.scrollIntoViewIfNeeded();
    const box = await handle.boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + 60, box.y + 60, { steps: 4 });
  };

  test('the page stops the drag of a stream when this stream ends', async () => {
    node.change(stream(100));
    await page.getByText('Stream 100', { exact: true }).waitFor();
    await dragFirstStream();
    const target = page.locator('.tray-output').filter({ hasText: 'Kitchen' });
    const box = await target.boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x + 20, box.y + 20);

    // The first stream is `Doorbell`, which is client 11.
    node.change(drop('audio.clients', '11'));
    await page.locator('.tray').waitFor({ state: 'detached' });
    await page.mouse.up();
    // The release of the mouse sends nothing, so the next command is that of the button Mute.
    await button('Mute Living room').click();
    await commandsAre(MUTE_LIVING_ROOM);
  });

  test('the page stops the drag of a slider when the node no longer answers, and ignores the mouse until the node answers again', async () => {
    // Each keep-alive of the event stream is a sign of life, and would enable the controls again. So the test
    // makes the page request a keep-alive only every 120 s, which is longer than this test takes.
    await page.route('**/events?*', (route) =>
      route.continue({ url: route.request().url().replace('keepalive=10', 'keepalive=120') }),
    );
    await page.reload();
    await button('Mute Living room').waitFor();
    // The client ends the silent event stream after 15 s (src/client/stream.ts), and then requests a new
    // stream. The beginning of the new stream would be a sign of life, too.
    await page.route('**/events?*', (route) => route.abort());
    const slider = page.getByRole('slider', { name: 'Volume on Living room' });
    await page.mouse.move(...(await spotOn(slider, 0.42)));
    await page.mouse.down();
    // From now on the page gets no sign of life, but a command would still reach the node.
    await page.route('**/server', (route) => route.abort());
    await until('the slider is disabled', () => slider.isDisabled());
    const cursor = await page.evaluate(
      "getComputedStyle(document.querySelector('.hero .volume input')).cursor",
    );
    assert.equal(cursor, 'default');
    node.backends.requests.length = 0;

    await page.mouse.move(...(await spotOn(slider, 0.6)));
    await page.mouse.up();
    await page.mouse.move(...(await spotOn(slider, 0.7)));
    await page.mouse.down();
    await page.mouse.move(...(await spotOn(slider, 0.8)));
    await page.mouse.up();
    await page.mouse.wheel(0, -100);
    await dragFirstStream();
    assert.equal(await page.locator('.tray').count(), 0);
    await page.mouse.up();

    await page.unroute('**/server');
    await page.unroute('**/events?*');
    await until('the slider is enabled', () => slider.isEnabled());
    assert.equal(await slider.inputValue(), '42');
    await button('Mute Living room').click();
    await commandsAre(MUTE_LIVING_ROOM);
  });

  test('the page offers no command for a unit of the system, and no link if the address of a unit is no web page', async () => {
    const url = 'javascript:alert(1)';
    node.change(service('bluetooth.service', { description: 'Bluetooth service', url }, 'system'));
    const card = page.locator('.service').filter({ hasText: 'Bluetooth service' });
    await card.getByRole('button', { name: 'More of Bluetooth service' }).click();
    await card.getByText('bluetooth.service').waitFor();
    // The only button is the one that was clicked above.
    assert.equal(await card.getByRole('button').count(), 1);
    assert.equal(await card.getByRole('link').count(), 0);
    assert.equal(await card.getByText('View only').count(), 1);
  });

  test('the page shows a change at once, and if the node refuses the change, takes it back and shows the detail of the problem', async () => {
    const commandAnswer = node.backends.hold();
    const mute = button('Mute Living room');
    await mute.click();
    await until('the button is pressed', async () => (await mute.getAttribute('aria-pressed')) === 'true');
    await nextCommand();

    commandAnswer.resolve({ ok: false, error: { fault: 'refused', detail: 'No such entity' } });
    const notice = page.getByRole('alert');
    await notice.getByText('Mute Living room could not be changed').waitFor();
    await notice.getByText('Details').click();
    await notice.getByText('No such entity').waitFor();
    assert.equal(await mute.getAttribute('aria-pressed'), 'false');
    await button('Dismiss').click();
    await page.getByText('No such entity').waitFor({ state: 'detached' });
  });

  test('the page shows that the node does not answer, or that it restarts, even while the event stream is open', async () => {
    await page.route('**/server', (route) => route.abort());
    await page.getByText('Connection lost').waitFor();
    node.change(put('power.action', '', { action: 'reboot' }));
    await page.getByText('living-room\u2069 is restarting').waitFor();
    await page.unroute('**/server');
    await page.getByText('Connected', { exact: true }).waitFor();
  });
});
