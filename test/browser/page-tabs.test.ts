// Tests many tabs and frames of one page in one Chromium, which opens six connections to a node: they share
// one event stream.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Frame, Page } from 'playwright-core';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { openChromium } from './chromium.js';
import { NodeWithPage, output } from './node-with-page.js';
import { DESK, nextCommand, node, page, pageForEach } from './pages.js';
import { startProxy } from './severable-proxy.js';

/** More than the connections that Chromium opens to a node. */
const TABS = 8;

/** The open event streams of a node, as it counts them. */
async function openStreams(of: NodeWithPage): Promise<number> {
  const { streams } = (await of.json('/health')) as { readonly streams: { readonly open: number } };
  return streams.open;
}

const oneStream = (of: NodeWithPage) =>
  until('one stream is open', async () => (await openStreams(of)) === 1);

/** Resolves when each of them shows this volume of the living room. */
async function show(volume: number, pages: readonly (Page | Frame)[]): Promise<void> {
  for (const each of pages) {
    const slider = each
      .locator('#outputs .output')
      .first()
      .getByRole('slider', { name: 'Volume of Living room' });
    await until(`${volume} is shown`, async () => (await slider.inputValue()) === String(volume));
  }
}

describe('many tabs of one page', { skip: lacks({ programs: ['chromium'] }) }, () => {
  let tabs: Page[] = [];
  pageForEach(DESK);
  beforeEach(() => void node.up());
  afterEach(async () => {
    await Promise.all(tabs.map((tab) => tab.close()));
    tabs = [];
  });

  async function openTabs(count: number, url = node.url): Promise<readonly Page[]> {
    await page.goto(url);
    while (tabs.length < count - 1) {
      const tab = await page.context().newPage();
      tabs.push(tab);
      await tab.goto(url);
    }
    return [page, ...tabs];
  }

  const connected = (each: Page) => each.getByText('Connected', { exact: true }).waitFor();

  /** Playwright's tabs are all visible, so this does what a browser does when another tab is chosen. */
  async function setHidden(tab: Page, isHidden: boolean): Promise<void> {
    await tab.evaluate(`{
      Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }`);
  }

  test('all are live with one stream, and the commands of each one arrive', async () => {
    const all = await openTabs(TABS);
    for (const each of all) await connected(each);
    await oneStream(node);
    node.change(output(0, { default: true, volume: 0.7 }));
    await show(70, all);
    for (const each of all) {
      node.backends.requests.length = 0;
      await each.getByRole('button', { name: 'Use Kitchen' }).click();
      assert.deepEqual(await nextCommand(), { do: 'default', output: '1', move: true });
    }
  });

  test('the others go on when the tab with the stream is closed, left or hidden', async () => {
    const [first, second, third, ...others] = (await openTabs(5)) as [Page, Page, Page, ...Page[]];
    await connected(third);
    await oneStream(node);
    await first.goto('about:blank');
    node.change(output(0, { default: true, volume: 0.1 }));
    await show(10, [second, third, ...others]);
    await setHidden(second, true);
    const request = third.waitForRequest((each) => each.url().includes('/events'));
    await setHidden(third, true);
    await setHidden(third, false);
    await request;
    node.change(output(0, { default: true, volume: 0.2 }));
    await show(20, [second, third, ...others]);
    await oneStream(node);
    await first.goBack();
    await show(20, [first]);
    await third.close();
    node.change(output(0, { default: true, volume: 0.3 }));
    await show(30, [first, second, ...others]);
    await oneStream(node);
  });

  test('a tab that has taken over keeps the newest state when the node goes away', async () => {
    const proxy = await startProxy(node.port);
    const [first, second] = (await openTabs(2, `http://127.0.0.1:${proxy.port}/ui`)) as [Page, Page];
    await connected(second);
    // The page draws its sections one after the other, and this one last.
    const switchOff = second.getByRole('button', { name: 'Switch off' });
    await switchOff.waitFor();
    await oneStream(node);
    await first.goto('about:blank');
    node.change(output(0, { default: true, volume: 0.6 }));
    await show(60, [second]);
    await proxy.close();
    await second.getByText('Connection lost').waitFor();
    await show(60, [second]);
    assert.equal(await switchOff.count(), 1);
  });

  test('all show that the node is away, and each can try to reach it', async () => {
    let proxy = await startProxy(node.port);
    const all = await openTabs(3, `http://127.0.0.1:${proxy.port}/ui`);
    for (const each of all) await connected(each);
    await oneStream(node);
    await proxy.close();
    for (const each of all) await each.getByText('Connection lost').waitFor();
    // The pages' own attempts all fail, so that only the button can succeed.
    for (const each of all)
      await each.route('**/server', (route) =>
        route.request().method() === 'HEAD' ? route.abort() : route.continue(),
      );
    proxy = await startProxy(node.port, proxy.port);
    await all[2]?.getByRole('button', { name: 'Try now' }).click();
    for (const each of all) await connected(each);
    await proxy.close();
  });
});

test('a wall of frames in a page of another site is live', {
  skip: lacks({ programs: ['chromium'] }),
}, async (t) => {
  const site = createServer((_request, response) => {
    const frame = `<iframe src="${wall.url}?only=outputs" width="300" height="300"></iframe>`;
    response.setHeader('Content-Type', 'text/html');
    response.end(frame.repeat(TABS));
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const wall = new NodeWithPage({ cors: { origins: [origin] } }).up();
  const { context, close } = await openChromium(DESK);
  t.after(async () => {
    await close();
    site.closeAllConnections();
    site.close();
    await wall.close();
  });
  const dashboard = await context.newPage();
  await dashboard.goto(origin);
  const frames = dashboard.frames().slice(1);
  assert.equal(frames.length, TABS);
  await show(42, frames);
  await oneStream(wall);
  wall.change(output(0, { default: true, volume: 0.9 }));
  await show(90, frames);
});
