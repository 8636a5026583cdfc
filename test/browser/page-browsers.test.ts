// Tests that the page is fit for the oldest browsers that it is made for. The build refuses each feature
// that one of them lacks. The page works in a Chromium without such features (older-browser.ts). In a
// browser that is older still, the page says which browsers it needs.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import type { Route } from 'playwright-core';
import { readPageFiles } from '../../src/gateway/page.js';
import { PROJECT } from '../contract/documented.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { PAGE_FOLDER } from './node-with-page.js';
import { makeOlder } from './older-browser.js';
import { DESK, nextCommand, node, openPage, page, pageForEach } from './pages.js';

interface Check {
  readonly ALLOWED: ReadonlySet<string>;
  checkScript(bundle: string, text: string): void;
  checkStyle(bundle: string, text: string): void;
  featuresOfScript(text: string): ReadonlySet<string>;
}

const importPackaging = (name: string): Promise<unknown> => import(join(PROJECT, 'packaging', name));
const { ALLOWED, checkScript, checkStyle, featuresOfScript } = (await importPackaging(
  'browser-check.mjs',
)) as Check;
const { featuresOfStyle } = (await importPackaging('style-features.mjs')) as {
  featuresOfStyle(text: string): ReadonlySet<string>;
};
const { BROWSERS_TEXT } = (await importPackaging('browsers.mjs')) as { readonly BROWSERS_TEXT: string };

const FILES = readPageFiles(PAGE_FOLDER);
const textOfFile = (pattern: RegExp): string => {
  const [, file] = [...FILES].find(([name]) => pattern.test(name)) ?? [];
  return file?.identity.toString() ?? '';
};

/** This element says which browsers the page needs (src/page/index.html). The page's script removes it. */
const NEEDS = '#needs';

describe('the check of the bundles', () => {
  /** Matches the line that names the refused feature in the message of an error. */
  const refusalOf = (feature: string): RegExp =>
    new RegExp(`^${feature.replaceAll(/[.()]/g, '\\$&')}: `, 'm');

  const scripts: readonly (readonly [script: string, feature: string])[] = [
    ['fetch("/", { signal: AbortSignal.timeout(5) })', 'AbortSignal.timeout'],
    ['export const last = (list) => list.findLast(Boolean)', '.findLast'],
    ['const { canParse } = URL', '.canParse'],
    ['Promise.withResolvers()', 'Promise.withResolvers'],
    // A feature without a row in packaging/browser-features.json counts as missing. EventSource has no row,
    // because the page does not use it.
    ['new EventSource("/events")', 'EventSource'],
    ['navigator.locks.request("a", () => {})', '.locks'],
    ['export const sorted = (list) => list?.toSorted()', '.toSorted'],
  ];
  for (const [script, feature] of scripts) {
    test(`the check of the bundles refuses ${feature} in a script`, () => {
      assert.throws(() => checkScript('the script', script), refusalOf(feature));
    });
  }

  const styles: readonly (readonly [style: string, feature: string])[] = [
    ['@container (width > 1px){a{color:red}}', '@container'],
    ['a:has(b){color:red}', ':has'],
    ['a{height:100svh}', 'svh'],
    ['a{text-wrap:balance}', 'text-wrap'],
    ['a{overflow:clip}', 'overflow: clip'],
    ['a{color:color-mix(in srgb,red,blue)}', 'color-mix()'],
  ];
  for (const [style, feature] of styles) {
    test(`the check of the bundles refuses ${feature} in a style`, () => {
      assert.throws(() => checkStyle('the style', style), refusalOf(feature));
    });
  }

  test('the check of the bundles allows names of the page itself, and features that all browsers have', () => {
    const script = 'class A { #b = 1; ourOwn() { return [this.#b].at(-1); } } new A().ourOwn();';
    checkScript('the script', script);
    checkStyle(
      'the style',
      '.a{color:inherit;width:1px;--own:1px}@media (hover:hover){.a:hover{opacity:.5}}',
    );
  });

  test('the page uses every feature that the check of the bundles allows as an exception', () => {
    const scriptFiles = [...FILES].filter(([name]) => name.endsWith('.js'));
    const used = new Set([
      ...scriptFiles.flatMap(([, { identity }]) => [...featuresOfScript(identity.toString())]),
      ...featuresOfStyle(textOfFile(/\.css$/)),
    ]);
    assert.deepEqual(
      [...ALLOWED].filter((name) => !used.has(name)),
      [],
    );
  });

  test('the page and the documentation name the oldest browsers for which the page is made', () => {
    assert.ok(textOfFile(/^index\.html$/).includes(BROWSERS_TEXT));
    for (const name of ['docs/http-api.md', 'docs/client.md'])
      assert.ok(readFileSync(join(PROJECT, name), 'utf8').includes(BROWSERS_TEXT), name);
  });
});

describe('the page in an older browser', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  pageForEach(DESK);

  describe('the page in a Chromium without the features that one of the oldest browsers lacks', () => {
    const errors: string[] = [];
    beforeEach(async () => {
      errors.length = 0;
      page.on('pageerror', (error) => errors.push(error.message));
      await makeOlder(page);
      await openPage();
    });

    test('the page in an older browser sends commands, and notices the loss and the return of the connection', async () => {
      // The value is undefined only if all three features are missing.
      const remainingFeature = await page.evaluate('AbortSignal.timeout ?? [].findLast ?? navigator.locks');
      assert.equal(remainingFeature, undefined);

      await page.getByRole('button', { name: 'Use Kitchen' }).click();
      assert.deepEqual(await nextCommand(), { do: 'default', output: '1', move: true });
      await page.getByRole('slider', { name: 'Volume of Living room' }).first().press('Home');
      await nextCommand();
      await page.getByRole('button', { name: 'Switch off' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();

      // The page requests /server to find out whether the node answers (src/page/presence.ts).
      await page.route('**/server', (route) => route.abort());
      await page.getByText('Connection lost').waitFor();
      await page.unroute('**/server');
      await page.getByText('Connected', { exact: true }).waitFor();
      assert.equal(await page.locator(NEEDS).count(), 0);
      assert.deepEqual(errors, []);
    });

    test('the page in an older browser shows the log of a unit', async () => {
      const entry = {
        time: '2026-01-01T10:05:00.000Z',
        priority: 3,
        message: "mpd.service: Failed with result 'exit-code'.",
      };
      node.backends.answer = {
        ok: true,
        value: { text: JSON.stringify([entry, { ...entry, message: 'Stopped.' }]) },
      };
      await page.locator('#services').getByRole('button', { name: 'More of Music Player Daemon' }).click();
      await page.locator('#services summary').filter({ hasText: 'Log' }).first().click();
      await page.getByText('Stopped.').waitFor();
      assert.deepEqual(errors, []);
    });
  });

  test('if the browser lacks a function, the page names the browsers that it needs', async () => {
    // All browsers for which the page is made have this function. A browser without it is older than these.
    await makeOlder(page, ['Object.hasOwn']);
    node.up();
    await page.goto(node.url);
    await page.getByText(`a browser not older than ${BROWSERS_TEXT}`).waitFor();
    assert.equal(await page.locator('header').count(), 0);
  });

  test('until the script of the page comes, the page says that it waits for this script', async () => {
    node.up();
    const pendingRoutes: Route[] = [];
    await page.route('**/*.js', (route) => void pendingRoutes.push(route));
    await page.goto(node.url, { waitUntil: 'commit' });
    await page.getByText('Waiting for the script of this page').waitFor();
    // The second text is for people who have waited in vain, so it appears only after 5 s.
    const delayOfSecondText = await page.evaluate(
      `getComputedStyle(document.querySelector('${NEEDS} .later')).animationDelay`,
    );
    assert.equal(delayOfSecondText, '5s');
    const scriptRoute = await until('the script is requested', () => pendingRoutes[0]);
    await scriptRoute.continue();
    await page.getByText('Connected', { exact: true }).waitFor();
    assert.equal(await page.locator(NEEDS).count(), 0);
  });

  test('if the script of the page is refused, the page names the likely reason: a proxy that rewrites Host', async () => {
    node.up();
    await page.route('**/*.js', (route) => route.fulfill({ status: 403, body: '' }));
    await page.goto(node.url);
    await page.getByText('A proxy on the way must pass on the Host header as it is').waitFor();
  });

  test('if the script of the page does not run, the page names the browsers that it needs', async () => {
    node.up();
    await page.route('**/*.js', (route) =>
      route.fulfill({ contentType: 'text/javascript', body: 'not ( a script' }),
    );
    await page.goto(node.url);
    await page.getByText(`a browser not older than ${BROWSERS_TEXT}`).waitFor();
  });
});
