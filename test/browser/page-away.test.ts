// Tests the page while its node is away: its text when the end was requested and when it was not, the
// controls that still work, the focus, and the return; and a page that nobody uses.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { readPageFiles } from '../../src/gateway/page.js';
import type { Change } from '../../src/protocol/actor/messages.js';
import { put } from '../gateway/scripted-backends.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { NodeWithPage, ORDINARY, PAGE_FOLDER, upgrade } from './node-with-page.js';
import { DESK, node, page, pageForEach } from './pages.js';
import { type SeverableProxy, startProxy } from './severable-proxy.js';

const RUNNING = { state: 'running', origin: 'systemd', started_at: '2026-01-01T10:00:00Z' };

type Row = readonly [what: string, announce: (node: NodeWithPage) => void, short: string, long: string];
/** An event before the connection ends, and the text of the page afterwards. */
const ROWS: readonly Row[] = [
  ['nothing', () => undefined, 'Connection lost', 'Trying again'],
  ['a reboot', (node) => node.change(action('reboot')), 'Restarting', 'is restarting'],
  ['power off', (node) => node.change(action('poweroff')), 'Switched off', 'is switched off'],
  ['an upgrade', (node) => node.change(...upgrade({}, RUNNING)), 'Upgrading', 'is being upgraded'],
];

function action(what: string): Change {
  return put('power.action', '', { action: what });
}

describe('a page whose node goes away', { skip: lacks({ programs: ['chromium'] }) }, () => {
  let proxy: SeverableProxy;
  pageForEach(DESK);
  beforeEach(async () => {
    node.up();
    proxy = await startProxy(node.port);
    await page.goto(`http://127.0.0.1:${proxy.port}/ui`);
    await page.locator('#system .button').first().waitFor();
  });
  afterEach(() => proxy.close());

  const connected = () => page.getByText('Connected', { exact: true }).waitFor();
  const back = async (port = node.port): Promise<void> => {
    proxy = await startProxy(port, proxy.port);
  };

  test('shows why, takes no command, and comes back, with the focus where it was', async () => {
    const mute = page.getByRole('button', { name: 'Mute Living room' });
    const focused = (): Promise<unknown> =>
      page.evaluate('(({ activeElement: at }) => at.ariaLabel ?? at.className)(document)');
    await mute.focus();
    for (const [what, announce, short, long] of ROWS) {
      announce(node);
      if (what !== 'nothing') await page.getByText(short, { exact: true }).first().waitFor();
      await proxy.close();
      await page.getByRole('button', { name: 'Try now' }).waitFor();
      await page.locator('header .state').getByText(short, { exact: true }).waitFor();
      await page.locator('.banner').getByText(long).waitFor();
      assert.equal(await page.locator('header .bad').count(), what === 'nothing' ? 2 : 0);
      await until('every control is disabled', async () => {
        assert.ok((await page.locator('main button').count()) > 10);
        return (await page.locator('main button:not(:disabled)').count()) === 0;
      });
      await until('the card has the focus', async () => String(await focused()).startsWith('output'));
      await back();
      await connected();
      await until('the button has the focus', async () => (await focused()) === 'Mute Living room');
      assert.equal(await mute.isEnabled(), true);
    }
  });

  test('tries at once on request', async () => {
    await proxy.close();
    await page.getByText('Connection lost').waitFor();
    // The page's own attempts all fail, so that only the button can succeed.
    await page.route('**/server', (route) =>
      route.request().method() === 'HEAD' ? route.abort() : route.continue(),
    );
    await back();
    await page.getByRole('button', { name: 'Try now' }).click();
    await connected();
  });

  test('shows that the node has a newer page, and loads it when nobody uses this one', async (t) => {
    const files = readPageFiles(PAGE_FOLDER);
    const document = files.get('index.html')?.identity.toString() ?? '';
    const name = /app-[\w-]{10}\.js/.exec(document)?.[0] ?? '';
    const newer = new Map(files)
      .set('index.html', { identity: Buffer.from(document.replace(name, 'app-0123456789.js')) })
      .set('app-0123456789.js', files.get(name) ?? { identity: Buffer.from('') });
    const young = new NodeWithPage({}, newer).up();
    t.after(() => young.close());
    await page.getByRole('button', { name: 'Switch off' }).click();
    await page.getByRole('dialog').waitFor();
    await proxy.close();
    await page.getByText('Connection lost').waitFor();
    await back(young.port);
    await page.getByText('There is a newer version of this page.').waitFor();
    assert.equal(await page.locator(`script[src*="${name}"]`).count(), 1, 'not while a question is open');
    await page.keyboard.press('Escape');
    await page.locator('script[src*="0123456789"]').waitFor({ state: 'attached' });
    await connected();
  });
});

describe('a page at rest', { skip: lacks({ programs: ['chromium'] }) }, () => {
  pageForEach(DESK);
  beforeEach(() => void node.up());

  test('sends no requests a minute after the last input, and sends them again after the next', async () => {
    let requests = 0;
    page.on('request', (request) => {
      if (request.method() === 'HEAD') requests += 1;
    });
    await page.clock.install();
    await page.goto(node.url);
    await page.getByText('Connected', { exact: true }).waitFor();
    await until('a request has come', () => requests > 0);
    // A stream without a byte for this long counts as lost: the page reconnects by itself.
    await page.clock.fastForward(61_000);
    await page.getByText('Connected', { exact: true }).waitFor();
    let before = 0;
    await until('five seconds have passed without a request', async () => {
      before = requests;
      await page.clock.runFor(5000);
      return requests === before;
    });
    await page.mouse.move(100, 100);
    await until('another request has come', () => requests > before);
  });

  test('keeps the focus in its card where a control becomes a text', async () => {
    await page.goto(node.url);
    const button = page.getByRole('button', { name: /^Upgrade to/ });
    await button.focus();
    node.change(...upgrade({}, RUNNING));
    await page.getByRole('progressbar').waitFor();
    const within = () => page.evaluate("document.activeElement.closest('#upgrade') !== null");
    await until('the card has the focus', within);
    node.change(...ORDINARY.upgrade);
    await button.waitFor();
    assert.equal(await within(), true);
  });

  test('distinguishes on from off in forced colours, and marks what opens a list', async () => {
    await page.emulateMedia({ forcedColors: 'active' });
    await page.goto(node.url);
    const style = (selector: string, property: string): Promise<string> =>
      page.evaluate(`getComputedStyle(document.querySelector('${selector}')).${property}`);
    await page.locator('.service').nth(2).waitFor();
    for (const more of await page.locator('.unfold').all()) await more.click();
    await page.locator('.switch').nth(1).waitFor();
    for (const [on, off] of [
      ['[aria-checked=true] .switch-track', '[aria-checked=false] .switch-track'],
      ['.output [aria-pressed=true].icon-button', '.output [aria-pressed=false].icon-button'],
    ] as const)
      assert.notEqual(await style(on, 'backgroundColor'), await style(off, 'backgroundColor'), on);
    assert.match(await style('.choice', 'backgroundImage'), /gradient/);
    assert.match(await style('.slider-look', 'forcedColorAdjust'), /none/);
  });
});
