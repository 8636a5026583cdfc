// Tests that many tabs and frames of one page share one event stream, because a browser opens only six
// connections to a node.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Frame, Page } from 'playwright-core';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { openChromium } from './chromium.js';
import { NodeWithPage, output } from './node-with-page.js';
import { DESK, LONG_WAITS, nextCommand, node, page, pageForEach } from './pages.js';
import { startProxy } from './severable-proxy.js';

/** More tabs or frames than Chromium opens connections to a node. */
const TABS = 8;
/** The volume of the living room in `ORDINARY` (node-with-page.ts). */
const FIRST_VOLUME_PERCENT = 42;

/** Resolves with the number of open event streams, as the node counts them. */
async function countStreams(anyNode: NodeWithPage): Promise<number> {
  const { streams } = (await anyNode.json('/health')) as { readonly streams: { readonly open: number } };
  return streams.open;
}

const waitForOneStream = (anyNode: NodeWithPage) =>
  until('one stream is open', async () => (await countStreams(anyNode)) === 1);

/** Resolves when each page shows this volume of the living room. */
async function waitForVolume(percent: number, pages: readonly (Page | Frame)[]): Promise<void> {
  for (const pageOrFrame of pages) {
    const slider = pageOrFrame
      .locator('#outputs .output')
      .first()
      .getByRole('slider', { name: 'Volume of Living room' });
    await until(`${percent} is shown`, async () => (await slider.inputValue()) === String(percent));
  }
}

describe('many tabs of one page', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  /** All tabs but the first one, which is `page`. */
  let furtherTabs: Page[] = [];
  pageForEach(DESK);
  beforeEach(() => void node.up());
  afterEach(async () => {
    await Promise.all(furtherTabs.map((tab) => tab.close()));
    furtherTabs = [];
  });

  async function openTabs(count: number, url = node.url): Promise<readonly Page[]> {
    await page.goto(url);
    while (furtherTabs.length < count - 1) {
      const tab = await page.context().newPage();
      furtherTabs.push(tab);
      await tab.goto(url);
    }
    return [page, ...furtherTabs];
  }

  const waitForConnected = (tab: Page) => tab.getByText('Connected', { exact: true }).waitFor();

  /** Hides or shows a tab as a browser does. Without this, all tabs count as visible in Playwright. */
  async function setHidden(tab: Page, isHidden: boolean): Promise<void> {
    await tab.evaluate(`{
      Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }`);
  }

  test('all tabs are live with one event stream, and the node receives the commands of each tab', async () => {
    const everyTab = await openTabs(TABS);
    for (const tab of everyTab) await waitForConnected(tab);
    await waitForOneStream(node);
    node.change(output(0, { default: true, volume: 0.7 }));
    await waitForVolume(70, everyTab);
    for (const tab of everyTab) {
      node.backends.requests.length = 0;
      await tab.getByRole('button', { name: 'Use Kitchen' }).click();
      assert.deepEqual(await nextCommand(), { do: 'default', output: '1', move: true });
    }
  });

  test('the other tabs stay live when the tab with the event stream opens another page, is hidden, or is closed', async () => {
    const [first, second, third, ...others] = (await openTabs(5)) as [Page, Page, Page, ...Page[]];
    await waitForConnected(third);
    await waitForOneStream(node);

    await first.goto('about:blank');
    node.change(output(0, { default: true, volume: 0.1 }));
    await waitForVolume(10, [second, third, ...others]);

    // The second tab is now the oldest that shows the page, so it has the stream. When it is hidden, the
    // third tab must take over the stream, even if the third tab itself is hidden for a moment.
    await setHidden(second, true);
    const streamRequest = third.waitForRequest((request) => request.url().includes('/events'));
    await setHidden(third, true);
    await setHidden(third, false);
    await streamRequest;
    node.change(output(0, { default: true, volume: 0.2 }));
    await waitForVolume(20, [second, third, ...others]);
    await waitForOneStream(node);

    await first.goBack();
    await waitForVolume(20, [first]);

    await third.close();
    node.change(output(0, { default: true, volume: 0.3 }));
    await waitForVolume(30, [first, second, ...others]);
    await waitForOneStream(node);
  });

  test('a tab that has taken over the stream keeps the newest state when the node goes away', async () => {
    const proxy = await startProxy(node.port);
    const [first, second] = (await openTabs(2, `http://127.0.0.1:${proxy.port}/ui`)) as [Page, Page];
    await waitForConnected(second);
    // The page draws the section with this button last. So a tab with this button has the whole state.
    const switchOff = second.getByRole('button', { name: 'Switch off' });
    await switchOff.waitFor();
    await waitForOneStream(node);
    await first.goto('about:blank');
    node.change(output(0, { default: true, volume: 0.6 }));
    await waitForVolume(60, [second]);
    await proxy.close();
    await second.getByText('Connection lost').waitFor();
    await waitForVolume(60, [second]);
    assert.equal(await switchOff.count(), 1);
  });

  test('all tabs show that the node is away, and the button Try now in a tab without the event stream connects all tabs again', async () => {
    let proxy = await startProxy(node.port);
    const everyTab = await openTabs(3, `http://127.0.0.1:${proxy.port}/ui`);
    for (const tab of everyTab) await waitForConnected(tab);
    await waitForOneStream(node);
    for (const tab of everyTab) await tab.evaluate(LONG_WAITS);
    await proxy.close();
    for (const tab of everyTab) await tab.getByText('Connection lost').waitFor();
    // A tab would notice by its HEAD requests that the node is back, and would reconnect without the button
    // (src/page/presence.ts). So the test makes these requests fail.
    for (const tab of everyTab)
      await tab.route('**/server', (route) =>
        route.request().method() === 'HEAD' ? route.abort() : route.continue(),
      );
    proxy = await startProxy(node.port, proxy.port);
    await everyTab[2]?.getByRole('button', { name: 'Try now' }).click();
    for (const tab of everyTab) await waitForConnected(tab);
    await proxy.close();
  });
});

test('many frames of the page are live in a page of another site, and share one event stream', {
  skip: skipReason({ programs: ['chromium'] }),
}, async (t) => {
  const site = createServer().listen(0, '127.0.0.1');
  await once(site, 'listening');
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const framedNode = new NodeWithPage({ cors: { origins: [origin] } }).up();
  const frame = `<iframe src="${framedNode.url}?only=outputs" width="300" height="300"></iframe>`;
  site.on('request', (_request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(frame.repeat(TABS));
  });
  const { context, close } = await openChromium(DESK);
  t.after(async () => {
    await close();
    site.closeAllConnections();
    site.close();
    await framedNode.close();
  });
  const dashboard = await context.newPage();
  await dashboard.goto(origin);
  // The first frame is the dashboard itself.
  const frames = dashboard.frames().slice(1);
  assert.equal(frames.length, TABS);
  await waitForVolume(FIRST_VOLUME_PERCENT, frames);
  await waitForOneStream(framedNode);
  framedNode.change(output(0, { default: true, volume: 0.9 }));
  await waitForVolume(90, frames);
});
