// Opens a browser for the tests of a suite. Each test gets a new page and a new node. No backend of the node
// is up before the test calls `openPage` or `node.up`.

import { after, afterEach, before, beforeEach } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { BackendRequest } from '../gateway/scripted-backends.js';
import { until } from '../until.js';
import { type OpenBrowser, openChromium } from './chromium.js';
import { NodeWithPage } from './node-with-page.js';

export const PHONE = { locale: 'en-GB', viewport: { width: 360, height: 740 }, hasTouch: true } as const;
export const DESK = { locale: 'en-GB', viewport: { width: 1280, height: 900 } } as const;

/**
 * Evaluate this in a page before its node goes away. With this random number the page waits for many minutes
 * before it connects by itself: 501 times as long as planned (`#pause` in src/client/stream.ts). So only a
 * press on Try now can cause an attempt to connect.
 */
export const LONG_WAITS = 'Math.random = () => -1000';

/** The node and the page of the test that runs now. A suite that uses them must call `pageForEach`. */
export let node: NodeWithPage;
export let page: Page;

/** Call this at the beginning of the suite. */
export function pageForEach(options: BrowserContextOptions): void {
  let browser: OpenBrowser;
  before(async () => {
    browser = await openChromium(options);
  });
  beforeEach(async () => {
    node = new NodeWithPage();
    page = await browser.context.newPage();
  });
  afterEach(async () => {
    await page.close();
    await node.close();
  });
  after(() => browser.close());
}

/** Answers each HEAD request in the browser. The page sends these requests to check that the node answers. */
const ANSWER_CHECKS = `{
  const request = window.fetch;
  window.fetch = (url, options) =>
    options?.method === 'HEAD' ? Promise.resolve(new Response()) : request(url, options);
}`;

/**
 * Call this after `pageForEach` if the tests use raw input or compare places. Otherwise an answer could be
 * late on a busy machine. The page would then disable its controls and show a banner for a moment.
 */
export function answerChecksAtOnce(): void {
  beforeEach(() => page.addInitScript(ANSWER_CHECKS));
}

/** Opens the page of a node whose backends are up. Then forgets the commands that the page has sent. */
export async function openPage(state: Parameters<NodeWithPage['up']>[0] = {}): Promise<void> {
  node.up(state);
  await page.goto(node.url);
  // A phone shows one tab at a time, so this part may be invisible.
  await page.locator('#system .button').first().waitFor({ state: 'attached' });
  node.backends.requests.length = 0;
}

/** The tabs of a phone's page, in order. */
const TAB_NAMES = ['Music', 'Sound', 'Node'] as const;

export const openTab = (name: (typeof TAB_NAMES)[number], onPage = page): Promise<void> =>
  onPage.locator(`.tab:nth-child(${TAB_NAMES.indexOf(name) + 1})`).click();

/**
 * The commands that the page has sent, without `status`. The page sends `status` by itself, to know whether
 * the node can be restarted or switched off.
 */
export const commands = (): readonly BackendRequest['command'][] =>
  node.backends.requests.map(({ command }) => command).filter((command) => command.do !== 'status');

/** Waits for a command. Resolves with the first of `commands()`, and forgets all commands. */
export async function nextCommand(): Promise<object> {
  const first = await until('a command has come', () => commands()[0]);
  node.backends.requests.length = 0;
  return first;
}

/** Waits until `commands()` are exactly the expected ones. Then forgets all commands. */
export async function commandsAre(...expected: readonly object[]): Promise<void> {
  await until(`the commands are ${JSON.stringify(expected)}`, () => isDeepStrictEqual(commands(), expected));
  node.backends.requests.length = 0;
}
