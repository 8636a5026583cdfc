// Tests a page whose node is away: the texts after an announced and after a sudden end of the node, the
// controls that still work, the focus, and the node's return. Also tests a page whose node is there: its
// requests while nobody uses it, its focus, forced colours, and a refused event stream.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, type TestContext, test } from 'node:test';
import { readPageFiles } from '../../src/gateway/page.js';
import type { Change } from '../../src/protocol/actor/messages.js';
import { put } from '../gateway/scripted-backends.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { NodeWithPage, ORDINARY, PAGE_FOLDER, upgrade } from './node-with-page.js';
import { DESK, LONG_WAITS, node, page, pageForEach } from './pages.js';
import { type SeverableProxy, startProxy } from './severable-proxy.js';

const RUNNING = { state: 'running', origin: 'systemd', started_at: '2026-01-01T10:00:00Z' };

/**
 * The node announces an end, or no end, and goes away. The page then has `headerText` in its header, and
 * `bannerText` in its banner.
 */
type Row = readonly [
  announcedEnd: string,
  announce: (node: NodeWithPage) => void,
  headerText: string,
  bannerText: string,
];
const ROWS: readonly Row[] = [
  ['no end', () => undefined, 'Connection lost', 'Trying again'],
  ['a reboot', (node) => node.change(powerAction('reboot')), 'Restarting', 'is restarting'],
  ['power off', (node) => node.change(powerAction('poweroff')), 'Switched off', 'is switched off'],
  ['an upgrade', (node) => node.change(...upgrade({}, RUNNING)), 'Upgrading', 'is being upgraded'],
];

function powerAction(action: 'reboot' | 'poweroff'): Change {
  return put('power.action', '', { action });
}

describe('a page whose node goes away', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  /** The page reaches the node only through this proxy. While the proxy is closed, the node is away. */
  let proxy: SeverableProxy;
  pageForEach(DESK);
  beforeEach(async () => {
    node.up();
    proxy = await startProxy(node.port);
    await page.goto(`http://127.0.0.1:${proxy.port}/ui`);
    await page.locator('#system .button').first().waitFor();
  });
  afterEach(() => proxy.close());

  const waitForConnected = () => page.getByText('Connected', { exact: true }).waitFor();
  const reopenProxy = async (port = node.port): Promise<void> => {
    proxy = await startProxy(port, proxy.port);
  };

  test('a page shows why its node is away, disables its controls, and restores the focus when the node returns', async () => {
    const mute = page.getByRole('button', { name: 'Mute Living room' });
    const labelOrClassOfFocused = (): Promise<unknown> =>
      page.evaluate('document.activeElement.ariaLabel ?? document.activeElement.className');
    await mute.focus();
    for (const [announcedEnd, announce, headerText, bannerText] of ROWS) {
      const isAnnounced = announcedEnd !== 'no end';
      announce(node);
      if (isAnnounced) await page.getByText(headerText, { exact: true }).first().waitFor();

      await proxy.close();
      await page.getByRole('button', { name: 'Try now' }).waitFor();
      await page.locator('header .state').getByText(headerText, { exact: true }).waitFor();
      await page.locator('.banner').getByText(bannerText).waitFor();
      // Without a reason, both the status and the banner are marked as bad (src/page/header.tsx).
      assert.equal(await page.locator('header .bad').count(), isAnnounced ? 0 : 2);
      await until('every control is disabled', async () => {
        // A page without any button would have no enabled button, either.
        assert.ok((await page.locator('main button').count()) > 10);
        return (await page.locator('main button:not(:disabled)').count()) === 0;
      });
      // The disabled button has lost the focus to its card. The card has the class `output` and no label.
      await until('the card has the focus', async () =>
        String(await labelOrClassOfFocused()).startsWith('output'),
      );

      await reopenProxy();
      await waitForConnected();
      await until(
        'the button has the focus',
        async () => (await labelOrClassOfFocused()) === 'Mute Living room',
      );
      assert.equal(await mute.isEnabled(), true);
    }
  });

  test('if a node does not answer during an upgrade, its page displays Upgrading at once, also after a long connection', async () => {
    node.change(...upgrade({}, RUNNING));
    await page.getByRole('progressbar').waitFor();
    // An upgrade explains the first 30 minutes of an absence (src/page/liveness.ts). These 31 minutes pass
    // before the absence begins, so they must not count.
    await page.evaluate('{ const { now } = Date; Date.now = () => now.call(Date) + 31 * 60_000; }');
    // The page concludes from the answers to these requests whether the node is away. The stream stays open.
    await page.route('**/server', (route) => route.abort());
    await page.getByRole('button', { name: 'Try now' }).waitFor();
    assert.equal(await page.locator('header .state').textContent(), 'Upgrading');
    assert.equal(await page.locator('header .bad').count(), 0);
  });

  test('a page tries to reach its node at once when a person presses Try now', async () => {
    await page.evaluate(LONG_WAITS);
    await proxy.close();
    await page.getByText('Connection lost').waitFor();
    // The page would notice the node's return by HEAD requests (src/page/presence.ts), so the test aborts
    // them.
    await page.route('**/server', (route) =>
      route.request().method() === 'HEAD' ? route.abort() : route.continue(),
    );
    await reopenProxy();
    await page.getByRole('button', { name: 'Try now' }).click();
    await waitForConnected();
  });

  /** A node whose page has the same script under another name, so that the page counts as newer. */
  const startUpgradedNode = (t: TestContext) => {
    const files = readPageFiles(PAGE_FOLDER);
    const document = files.get('index.html')?.identity.toString() ?? '';
    const olderScript = /app-[\w-]{10}\.js/.exec(document)?.[0] ?? '';
    const newerFiles = new Map(files)
      .set('index.html', { identity: Buffer.from(document.replace(olderScript, 'app-0123456789.js')) })
      .set('app-0123456789.js', files.get(olderScript) ?? { identity: Buffer.from('') });
    const upgradedNode = new NodeWithPage({}, newerFiles).up();
    t.after(() => upgradedNode.close());
    return { upgradedNode, olderScript };
  };

  test('a page that was left, and is brought back by the browser, loads the newer page of its node', async (t) => {
    const { upgradedNode } = startUpgradedNode(t);
    // Playwright's Chromium keeps no page that was left. So the test sends the page the events of leaving
    // and of coming back.
    const dispatch = (name: string): Promise<unknown> =>
      page.evaluate(`dispatchEvent(new PageTransitionEvent('${name}', { persisted: true }))`);
    await dispatch('pagehide');
    await page.getByText('Connecting').first().waitFor();
    await proxy.close();
    await reopenProxy(upgradedNode.port);
    await dispatch('pageshow');
    await page.locator('script[src*="0123456789"]').waitFor({ state: 'attached' });
    await waitForConnected();
  });

  test('a page shows that its node has a newer page, and loads the newer page as soon as no question is open', async (t) => {
    const { upgradedNode, olderScript } = startUpgradedNode(t);
    await page.getByRole('button', { name: 'Switch off' }).click();
    await page.getByRole('dialog').waitFor();
    await proxy.close();
    await page.getByText('Connection lost').waitFor();
    await reopenProxy(upgradedNode.port);
    await page.getByText('There is a newer version of this page.').waitFor();
    assert.equal(
      await page.locator(`script[src*="${olderScript}"]`).count(),
      1,
      'the older page stays while a question is open',
    );
    await page.keyboard.press('Escape');
    await page.locator('script[src*="0123456789"]').waitFor({ state: 'attached' });
    await waitForConnected();
  });

  test('a page that has become outdated is not loaded again while its node is away', async (t) => {
    const { upgradedNode } = startUpgradedNode(t);
    // The page is loaded again, so that all its timers use the installed clock.
    await page.clock.install();
    await page.reload();
    await page.getByRole('button', { name: 'Switch off' }).click();
    await proxy.close();
    await page.getByText('Connection lost').waitFor();
    await reopenProxy(upgradedNode.port);
    await page.getByText('There is a newer version of this page.').waitFor();
    await proxy.close();
    await page.getByText('Connection lost').waitFor();
    // The open question has prevented the reload until now.
    await page.keyboard.press('Escape');
    // If the node were there, an outdated page without input for 5 s would be loaded again
    // (src/page/presence.ts).
    await page.clock.runFor(7000);
    assert.equal(await page.getByText('Connection lost').isVisible(), true);
    await reopenProxy(upgradedNode.port);
    await page.locator('script[src*="0123456789"]').waitFor({ state: 'attached' });
    await waitForConnected();
  });

  for (const [what, opener, place, buttonName] of [
    ['a question', 'Switch off', 'beside it', 'Cancel'],
    ['a question', 'Switch off', 'on Cancel', 'Cancel'],
    ['a sheet', /^Playing on/, 'on Close', 'Close'],
  ] as const)
    test(`while the node is away, ${what} that is still open is closed by a tap ${place}`, async () => {
      await page.getByRole('button', { name: opener }).click();
      const dialog = page.getByRole('dialog');
      await dialog.waitFor();
      await proxy.close();
      await page.getByText('Connection lost').waitFor();
      const button = dialog.getByRole('button', { name: buttonName });
      await until('the button is disabled', () => button.isDisabled());
      const box = await button.boundingBox();
      assert.ok(box);
      const besideDialog = { x: 4, y: 400 };
      // A tap on the disabled button closes the dialog, too (`closeDialog` in src/page/parts.tsx).
      if (place === 'beside it') await page.mouse.click(besideDialog.x, besideDialog.y);
      else await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
      await dialog.waitFor({ state: 'hidden' });
    });
});

describe('a page whose node is there', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  pageForEach(DESK);
  beforeEach(() => void node.up());

  test('a page stops checking its node a minute after the last input, and checks it again at the next input', async () => {
    /** The number of HEAD requests. They check that the node answers (src/page/presence.ts). */
    let checks = 0;
    page.on('request', (request) => {
      if (request.method() === 'HEAD') checks += 1;
    });
    await page.clock.install();
    await page.goto(node.url);
    await page.getByText('Connected', { exact: true }).waitFor();
    await until('the page has checked its node', () => checks > 0);
    // In these 61 s of the page's clock the stream brings nothing. So it counts as lost
    // (src/client/stream.ts), and the page reconnects by itself.
    await page.clock.fastForward(61_000);
    await page.getByText('Connected', { exact: true }).waitFor();
    let checksBefore = 0;
    await until('five seconds have passed without a check', async () => {
      checksBefore = checks;
      await page.clock.runFor(5000);
      return checks === checksBefore;
    });
    await page.mouse.move(100, 100);
    await until('the page has checked its node again', () => checks > checksBefore);
  });

  test('the page keeps the focus in a card whose focused control becomes a text', async () => {
    await page.goto(node.url);
    const button = page.getByRole('button', { name: /^Upgrade to/ });
    await button.focus();
    node.change(...upgrade({}, RUNNING));
    await page.getByRole('progressbar').waitFor();
    const isFocusInCard = () => page.evaluate("document.activeElement.closest('#upgrade') !== null");
    await until('the card has the focus', isFocusInCard);
    node.change(...ORDINARY.upgrade);
    await button.waitFor();
    assert.equal(await isFocusInCard(), true);
  });

  test('switches, buttons, lists and sliders can still be read in forced colours', async () => {
    await page.emulateMedia({ forcedColors: 'active' });
    await page.goto(node.url);
    const style = (selector: string, property: string): Promise<string> =>
      page.evaluate(`getComputedStyle(document.querySelector('${selector}')).${property}`);
    await page.locator('.service').nth(2).waitFor();
    // The switches are in cards, and appear when these are unfolded.
    for (const unfoldButton of await page.locator('.unfold').all()) await unfoldButton.click();
    await page.locator('.switch').nth(1).waitFor();
    for (const [on, off] of [
      ['[aria-checked=true] .switch-track', '[aria-checked=false] .switch-track'],
      ['.output [aria-pressed=true].icon-button', '.output [aria-pressed=false].icon-button'],
    ] as const)
      assert.notEqual(await style(on, 'backgroundColor'), await style(off, 'backgroundColor'), on);
    // The gradient is the arrow of a control that opens a list.
    assert.match(await style('.choice', 'backgroundImage'), /gradient/);
    // A slider keeps its own colours.
    assert.match(await style('.slider-look', 'forcedColorAdjust'), /none/);
  });

  test('the page shows why its node refuses the event stream, and tries again when a person presses Try now', async (t) => {
    const withoutStream = new NodeWithPage({ sse: { enabled: false, maxClients: 64 } });
    t.after(() => withoutStream.close());
    await page.addInitScript(LONG_WAITS);
    let requests = 0;
    await page.route('**/events?*', (route) => {
      requests += 1;
      return route.continue();
    });
    await page.goto(withoutStream.up().url);
    await page.getByText(/api\.sse\.enabled/).waitFor();
    await page.getByText('Connecting').first().waitFor();
    const requestsBefore = requests;
    await page.getByRole('button', { name: 'Try now' }).click();
    await until('the page has tried again', () => requests > requestsBefore);
  });
});
