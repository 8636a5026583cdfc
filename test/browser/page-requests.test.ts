// Tests the page's requests for clicks and typing, for everything of which a test cannot have a real part: ports, players, units, power,
// upgrades. The tests of the backends show how the node carries them out.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { put } from '../gateway/scripted-backends.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { type OpenBrowser, openChromium } from './chromium.js';
import { NodeWithPage, ORDINARY, player, service, stream, upgrade } from './node-with-page.js';

const MPD = { scope: 'user', unit: 'mpd.service' };
const PLAYER = 'org.mpris.MediaPlayer2.mpd';

/** An action by the role and name of its control, and the command that follows. */
const ROWS: readonly (readonly [role: 'button' | 'switch', name: string, command: object])[] = [
  ['button', 'Stop Music Player Daemon', { do: 'stop', ...MPD }],
  ['button', 'Restart Music Player Daemon', { do: 'restart', ...MPD }],
  ['switch', 'Start Music Player Daemon automatically', { do: 'disable', ...MPD }],
  ['button', 'Start AirPlay receiver', { do: 'start', scope: 'user', unit: 'shairport-sync.service' }],
  ['button', 'Check now', { do: 'check' }],
  ['button', 'Pause', { do: 'pause', player: PLAYER }],
  ['button', 'Next', { do: 'next', player: PLAYER }],
  ['button', 'Shuffle', { do: 'shuffle', player: PLAYER, shuffle: true }],
  ['button', 'Repeat: off', { do: 'loop', player: PLAYER, loop: 'Playlist' }],
];

const streams = (from: number, to: number, more: object = {}) =>
  Array.from({ length: to - from + 1 }, (_, index) => stream(from + index, more));

const VIEWPORT = { width: 1280, height: 1800 };

describe('the page', { skip: lacks({ programs: ['chromium'] }) }, () => {
  let browser: OpenBrowser;
  let node: NodeWithPage;
  let page: Page;
  before(async () => {
    browser = await openChromium({ locale: 'en-GB', viewport: VIEWPORT });
    page = await browser.context.newPage();
  });
  beforeEach(async () => {
    await node?.close();
    node = new NodeWithPage().up();
    await page.goto(node.url);
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.locator('#system .button').first().waitFor();
    node.backends.asked.length = 0;
  });
  after(async () => {
    await browser.close();
    await node.close();
  });

  /** The first command, apart from the request for the power status. */
  const asked = (): Promise<object> =>
    until('a command has come', () =>
      node.backends.asked.map(({ command }) => command).find((command) => command.do !== 'status'),
    );

  const focused = (): Promise<unknown> => page.evaluate("document.activeElement.getAttribute('aria-label')");

  const unfold = (): Promise<void> =>
    page.locator('#services').getByRole('button', { name: 'More of Music Player Daemon' }).click();

  for (const [role, name, command] of ROWS) {
    test(`sends ${name} for the Enter key, of which the browser makes a click`, async () => {
      await unfold();
      await page.getByRole(role, { name, exact: true }).press('Enter');
      assert.deepEqual(await asked(), command);
    });
  }

  test('sends an upgrade only behind a question that names the version', async () => {
    const button = page.getByRole('button', { name: 'Upgrade to \u20681.5.0\u2069' });
    await button.click();
    const dialog = page.getByRole('dialog', { name: 'Upgrade to \u20681.5.0\u2069?' });
    await dialog.getByText('The node may restart.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    assert.deepEqual(node.backends.asked, []);
    await button.press('Enter');
    await dialog.getByRole('button', { name: 'Upgrade to' }).press('Enter');
    assert.deepEqual(await asked(), { do: 'start' });
  });

  test('offers no upgrade where there is none', async () => {
    node.change('upgrade', ...upgrade({}));
    await page.getByText('Up to date').waitFor();
    assert.equal(await page.getByRole('button', { name: /^Upgrade/ }).count(), 0);
    await page.getByRole('button', { name: 'Check now' }).waitFor();
  });

  test('sends a check for upgrades, and shows that it runs', async () => {
    const answer = node.backends.hold();
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByText('Checking').waitFor();
    answer({
      ok: false,
      fault: 'refused',
      detail: 'Main process exited, code=exited, status=2/INVALIDARGUMENT',
    });
    await page.getByText('The check for upgrades failed: exit status 2').waitFor();
    await page.getByRole('button', { name: 'Check now' }).waitFor();
  });

  test('sends nothing for a run, whose step it keeps when the service has forgotten it', async () => {
    const running = { state: 'running', origin: 'systemd', started_at: '2026-01-01T10:00:00Z' };
    node.change('upgrade', ...upgrade({}, running, { percent: 37, step: 'Unpacking' }));
    const line = { event: 'progress', percent: 40, current: 4, step: 'Restarting the service' };
    node.change('upgrade', put('upgrade.progress', '', line));
    await page.getByText('Restarting the service').waitFor();
    node.health('upgrade', 'connecting');
    await page.getByText('Restarting the service').waitFor({ state: 'detached' });
    node.change('upgrade', ...upgrade({}, running));
    node.health('upgrade', 'up');
    await page.getByText('Restarting the service').waitFor();
    const failed = { ...running, state: 'failed', finished_at: '2026-01-01T10:05:00Z' };
    node.change('upgrade', ...upgrade({}, failed));
    await page.getByText(/The last upgrade failed, .*, at the step: .*Restarting the service/).waitFor();
    const entry = { time: '2026-01-01T10:05:00.000Z', priority: 3, message: 'No space left on device' };
    node.backends.answer = { ok: true, text: JSON.stringify([entry]) };
    await page.getByLabel('Log: Upgrade').click();
    await page.getByText('No space left on device').waitFor();
    assert.deepEqual(await asked(), { do: 'log', lines: 20 });
  });

  test('sends a change of the port', async () => {
    await page.getByLabel('More of Living room').click();
    await page.getByRole('combobox', { name: 'Port of Living room' }).selectOption('headphones');
    assert.deepEqual(await asked(), { do: 'port', output: '0', port: 'headphones' });
  });

  test("sends a change of the card's profile", async () => {
    await page.getByLabel('More of Living room').click();
    await page.getByRole('combobox', { name: 'Profile of HiFi HAT' }).selectOption('HDMI (not plugged in)');
    assert.deepEqual(await asked(), { do: 'profile', card: '3', profile: 'hdmi' });
  });

  test('sends a position once the slider is released', async () => {
    await page.getByRole('slider', { name: /^Position in Nocturne/ }).press('Home');
    assert.deepEqual(await asked(), { do: 'position', player: PLAYER, position: 0, trackId: '/track/1' });
  });

  test('sends a power action only behind a question that names the node, which Escape ends', async () => {
    await page.getByRole('button', { name: 'Switch off' }).click();
    const dialog = page.getByRole('dialog', { name: /Switch off .*living-room/ });
    await dialog.waitFor();
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Cancel');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    assert.deepEqual(node.backends.asked, []);
    await page.getByRole('button', { name: 'Switch off' }).press('Enter');
    await dialog.waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.deepEqual(await asked(), { do: 'poweroff' });
    await dialog.waitFor({ state: 'hidden' });
  });

  test('sends the volume of a stream far down the list, also while all streams change', async () => {
    node.change('audio', ...streams(100, 161));
    await page.getByRole('button', { name: '56 more streams' }).click();
    await page.getByText('Stream 161', { exact: true }).scrollIntoViewIfNeeded();
    node.change('audio', ...streams(100, 161, { volume: 0.3 }));
    for (const name of ['Stream 161', 'Stream 101']) {
      const volume = page.getByRole('slider', { name: `Volume of ${name}` });
      await until(`${name} is published`, async () => (await volume.inputValue()) === '30');
    }
    await page.getByRole('slider', { name: 'Volume of Stream 160' }).press('Home');
    assert.deepEqual(await asked(), { do: 'volume', target: { kind: 'client', ref: '160' }, volume: 0 });
    node.change('audio', stream(130, { name: 'Another name' }));
    await page.getByText('Another name', { exact: true }).waitFor();
  });

  test('shows the first eight of many streams until all are wanted, and remembers that', async () => {
    const shown = (): Promise<number> => page.locator('.stream').count();
    const shows = (count: number) =>
      until(`${count} streams are shown`, async () => (await shown()) === count);
    const more = (count: number): Locator => page.getByRole('button', { name: `${count} more streams` });
    const bottom = (): Promise<number> => page.evaluate("document.querySelector('#streams').offsetHeight");
    // Together with the two existing streams that makes nine.
    node.change('audio', ...streams(100, 106));
    await shows(9);
    assert.equal(await page.locator('.fold').count(), 0, 'one alone is shown');
    node.change('audio', ...streams(107, 150));
    await more(45).waitFor();
    await shows(8);
    const folded = await bottom();
    await more(45).press('Enter');
    await shows(53);
    assert.equal(await more(45).getAttribute('aria-expanded'), 'true');
    assert.equal(await page.evaluate('document.activeElement.textContent'), '45 more streams');
    await page.getByRole('combobox', { name: 'Output of Stream 106' }).waitFor();
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Output of Stream 106', 'what has come is next');
    node.health('audio', 'connecting');
    await page.locator('.stream').first().waitFor({ state: 'detached' });
    node.change('audio', ...(ORDINARY['audio'] ?? []), ...streams(100, 150));
    node.health('audio', 'up');
    await shows(53);
    await more(45).press('Enter');
    await shows(8);
    assert.equal(await bottom(), folded, 'and nothing is left below');
  });

  test('keeps each thing in its column while the sound server is away', async () => {
    const place = (): Promise<number> => page.evaluate("document.querySelector('#services').offsetLeft");
    const before = await place();
    node.health('audio', 'connecting');
    await page.locator('#streams').waitFor({ state: 'detached' });
    assert.equal(await place(), before);
  });

  test('sends nothing for units of the system', async () => {
    const card = page.locator('.service').filter({ hasText: 'Bluetooth service' });
    await card.getByRole('button', { name: 'More of Bluetooth service' }).click();
    await card.getByText('bluetooth.service').waitFor();
    assert.equal(await card.getByRole('button').count(), 1);
    assert.equal(await card.getByText('View only').count(), 1);
  });

  test('reverts what is refused, with the detail of the problem', async () => {
    node.backends.answer = { ok: false, fault: 'refused', detail: 'No such entity' };
    const mute = page.getByRole('button', { name: 'Mute Living room' });
    await mute.click();
    await page.getByRole('alert').getByText('Mute Living room could not be changed').waitFor();
    await page.getByRole('alert').getByText('Details').click();
    await page.getByRole('alert').getByText('No such entity').waitFor();
    assert.equal(await mute.getAttribute('aria-pressed'), 'false');
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.getByText('No such entity').waitFor({ state: 'detached' });
  });

  test('shows at once what is still under way', async () => {
    let answer: (value: { ok: true }) => void = () => undefined;
    node.backends.answer = new Promise((resolve) => {
      answer = resolve;
    });
    const mute = page.getByRole('button', { name: 'Mute Living room' });
    await mute.click();
    await until('the button is pressed', async () => (await mute.getAttribute('aria-pressed')) === 'true');
    await asked();
    answer({ ok: true });
  });

  test('shows that the node does not answer, even though the stream is open', async () => {
    await page.route('**/server', (route) => route.abort());
    await page.getByText('Connection lost').waitFor();
    await page.getByText('Trying again').waitFor();
    node.change('power', put('power.action', '', { action: 'reboot' }));
    await page.getByText('living-room\u2069 is restarting').waitFor();
    await page.unroute('**/server');
    await page.getByText('Connected', { exact: true }).waitFor();
  });

  test('moves a position by itself', async () => {
    const slider = page.getByRole('slider', { name: /^Position in Nocturne/ });
    const before = Number(await slider.inputValue());
    await until('the position has moved', async () => Number(await slider.inputValue()) > before);
    node.change('players', player('mpd', { playback_status: 'Paused', position: 5_000_000 }));
    await until('the position rests', async () => (await slider.inputValue()) === '5');
  });

  test('links no unit whose address is no web page', async () => {
    node.change('systemd', service('mpd.service', { description: 'X', url: 'javascript:alert(1)' }));
    await page.getByRole('button', { name: 'More of X' }).click();
    await page.locator('.service').getByText('mpd.service').waitFor();
    assert.equal(await page.locator('.service').filter({ hasText: 'X' }).getByRole('link').count(), 0);
  });
});
