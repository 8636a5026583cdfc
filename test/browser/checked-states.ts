// Checks states of the page, each in light and in dark colours. axe-core checks the accessibility of a narrow
// page, and must have no finding. At every width, no text may be cut off at the side, and no target may be
// too small for a finger. With TONEARM_PICTURES=FOLDER, each test also saves pictures for people.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import type { Backend } from '../../src/protocol/actor/backends.js';
import type { Change } from '../../src/protocol/actor/messages.js';
import { skipReason } from '../tools/requirements.js';
import { type OpenBrowser, openChromium } from './chromium.js';
import { NodeWithPage } from './node-with-page.js';

/** The folder for pictures. If it is an empty text, no picture is saved. */
export const PICTURES = process.env['TONEARM_PICTURES'] ?? '';
/** The checks need a very narrow and a wide page. Pictures for people need the widths of usual screens. */
const WIDTHS = PICTURES === '' ? ([320, 1440] as const) : ([360, 768, 1440] as const);
const NARROW_PX = WIDTHS[0];
const SCHEMES = ['light', 'dark'] as const;
const PICTURE_HEIGHT_PX_MAX = 2600;
/**
 * A target is an element that people tap. Its width and its height are at least this. WCAG 2.2 requires 24
 * pixels, but a finger needs 44.
 */
const TARGET_PX_MIN = 44;

export interface State {
  /** Replaces the ordinary state of these backends. */
  readonly node?: Partial<Record<Backend, readonly Change[]>>;
  readonly language?: string;
  /** Changes the node before the page is loaded. */
  readonly prepare?: (node: NodeWithPage) => void;
  /** Acts on the page after it has connected to the node. */
  readonly act?: (page: Page, node: NodeWithPage) => Promise<unknown>;
}

export const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** The only rule whose result can differ in the second colour scheme. */
const AXE_COLOURS = ['color-contrast'];

/** A page of Playwright or of WebDriver. */
interface EvaluatingPage {
  evaluate(expression: string): Promise<unknown>;
}

/**
 * Resolves with the findings of axe-core in the element that matches the selector `within`. `runOnly` has
 * rules of axe-core, or tags of its rules.
 */
export async function findings(
  page: EvaluatingPage,
  runOnly: readonly string[],
  within = 'html',
): Promise<readonly string[]> {
  const result = (await page.evaluate(
    `axe.run(${JSON.stringify(within)}, { runOnly: ${JSON.stringify(runOnly)} })`,
  )) as {
    violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
  };
  return result.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}: ${failureSummary}`),
  );
}

async function savePicture(page: Page, name: string): Promise<void> {
  const width = await page.evaluate<number>('innerWidth');
  const height = Math.min(await page.evaluate<number>('document.body.scrollHeight'), PICTURE_HEIGHT_PX_MAX);
  // If the page is scrolled, a picture of the whole page would miss an element in front of the page.
  const isScrolled = (await page.evaluate('scrollY')) !== 0;
  const wholePage = { fullPage: true, clip: { x: 0, y: 0, width, height } };
  await page.screenshot({ path: join(PICTURES, name), ...(isScrolled ? {} : wholePage) });
}

/**
 * Resolves with visible elements that stick out at the right, have more text than room, or are targets too
 * small for a finger. A fixed element may stick out. The content of a `.clip` may stick out, too, because
 * page.css ends this text with an ellipsis.
 */
export function misfits(page: EvaluatingPage): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const visible = [...document.querySelectorAll('body *')].filter((element) => element.checkVisibility());
    const sticksOut = (element) =>
      element.getBoundingClientRect().right > innerWidth + 0.5 &&
      getComputedStyle(element).position !== 'fixed' &&
      !element.closest('.clip');
    const spills = (element) =>
      element.matches('button, a, p, h1, h2, dd') &&
      element.scrollWidth > element.clientWidth + 1 &&
      getComputedStyle(element).overflowX === 'visible';
    const isSmall = (element) => {
      const { width, height } = element.getBoundingClientRect();
      const isTarget = element.matches('button, select, input, summary, a:not(.skip)');
      return isTarget && Math.min(width, height) < ${TARGET_PX_MIN} - 0.1;
    };
    const linesOf = (fault, isFaulty) =>
      visible.filter(isFaulty).map((element) => fault + ': ' + element.outerHTML.slice(0, 200));
    return [
      ...linesOf('sticks out', sticksOut),
      ...linesOf('spills its text', spills),
      ...linesOf('too small', isSmall),
    ];
  })()`) as Promise<readonly string[]>;
}

/**
 * Yields '' for the tab that is open. Then opens each of the other tabs, and yields `-` and the tab's name.
 * Only a narrow page has tabs. If a dialog or the tray (the outputs during a drag) covers the tabs, no other
 * tab is opened.
 */
async function* eachTab(page: Page): AsyncGenerator<string> {
  yield '';
  const otherTabs = page.locator('.tab:not([aria-current])');
  const isCovered = (await page.locator('dialog[open], .tray').count()) > 0;
  if (isCovered || !(await page.locator('.tabs').isVisible())) return;
  for (const tab of await otherTabs.elementHandles()) {
    await tab.click();
    yield `-${await tab.textContent()}`;
  }
}

async function checkTab(page: Page, stateName: string, width: number, tabSuffix: string): Promise<void> {
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme });
    if (PICTURES !== '') await savePicture(page, `${stateName}-${width}${tabSuffix}-${colorScheme}.png`);
    const isFirstScheme = colorScheme === SCHEMES[0];
    const rules = isFirstScheme ? AXE_TAGS : AXE_COLOURS;
    if (width === NARROW_PX) assert.deepEqual(await findings(page, rules), [], `${tabSuffix} ${colorScheme}`);
  }
  assert.deepEqual(await misfits(page), [], `${width} ${tabSuffix}`);
}

function viewportOf(width: number) {
  const isPhone = width < 500;
  return { width, height: isPhone ? 740 : 900 };
}

/** Declares a test for each state. */
export function testStates(states: Readonly<Record<string, State>>): void {
  describe('the page', { skip: skipReason({ programs: ['chromium'] }) }, () => {
    let browser: OpenBrowser;
    /** The open page of each language. A new page for each test would take three times as long to load. */
    const pages = new Map<string, Page>();
    const errors: string[] = [];
    before(async () => {
      browser = await openChromium({ locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce' });
    });
    const pageIn = async (language: string): Promise<Page> => {
      const openPage = pages.get(language);
      if (openPage !== undefined) return openPage;
      const page = await browser.context.newPage();
      pages.set(language, page);
      page.on('pageerror', (error) => errors.push(error.message));
      page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
      await page.addInitScript(`Object.defineProperty(navigator, 'languages', { value: ['${language}'] })`);
      return page;
    };
    after(() => browser.close());

    for (const [name, { node: changes = {}, language = 'en', prepare, act }] of Object.entries(states)) {
      test(`the page in the state ${name} passes axe, cuts nothing off at the side, and has no target that is too small`, async () => {
        const node = new NodeWithPage().up(changes);
        prepare?.(node);
        const page = await pageIn(language);
        errors.length = 0;
        try {
          // A page behind another one is drawn only once a second.
          await page.bringToFront();
          await page.setViewportSize(viewportOf(NARROW_PX));
          await page.goto(node.url);
          await page.locator('header .good').waitFor();
          await page.locator('#system .health').waitFor({ state: 'attached' });
          await act?.(page, node);
          await page.evaluate(axe.source);
          for (const width of WIDTHS) {
            await page.setViewportSize(viewportOf(width));
            for await (const tabSuffix of eachTab(page)) await checkTab(page, name, width, tabSuffix);
          }
          assert.match(await page.title(), /living-room$/);
          // In these two states a request fails, which Chromium reports as an error of the page.
          if (!['restarting', 'refused'].includes(name)) assert.deepEqual(errors, []);
        } finally {
          await page.unrouteAll();
          await page.goto('about:blank');
          await node.close();
        }
      });
    }
  });
}
