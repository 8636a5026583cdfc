// Checks every state of the page in light and dark. Where the page is narrow, axe-core must have no finding.
// At no width may text be cut off at the side, or a target be too small for a thumb. TONEARM_PICTURES=FOLDER
// also saves a picture of each state for a person to look at.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import type { Backend } from '../../src/protocol/actor/backends.js';
import type { Change } from '../../src/protocol/actor/messages.js';
import { lacks } from '../tools/requirements.js';
import { type OpenBrowser, openChromium } from './chromium.js';
import { NodeWithPage } from './node-with-page.js';

/** The folder for pictures, or an empty text. */
export const PICTURES = process.env['TONEARM_PICTURES'] ?? '';
const WIDTHS = PICTURES === '' ? ([320, 1440] as const) : ([360, 768, 1440] as const);
const SCHEMES = ['light', 'dark'] as const;
const PICTURE_HEIGHT_MAX = 2600;
/** The least size of a target, in pixels; WCAG 2.2 requires 24, a finger needs 44. */
const TOUCH_MIN = 44;

export interface State {
  readonly node?: Partial<Record<Backend, readonly Change[]>>;
  readonly language?: string;
  /** Changes the node before the page is loaded. */
  readonly prepare?: (node: NodeWithPage) => void;
  /** Acts on the page once it is live. */
  readonly act?: (page: Page, node: NodeWithPage) => Promise<unknown>;
}

export const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** The only rule whose result can differ in the second colour scheme. */
const AXE_COLOURS = ['color-contrast'];

/** A page of playwright, or one that is driven by WebDriver. */
interface Scripted {
  evaluate(expression: string): Promise<unknown>;
}

export async function findings(
  page: Scripted,
  runOnly: readonly string[],
  within = 'html',
): Promise<readonly string[]> {
  const found = (await page.evaluate(
    `axe.run(${JSON.stringify(within)}, { runOnly: ${JSON.stringify(runOnly)} })`,
  )) as {
    violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
  };
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}: ${failureSummary}`),
  );
}

async function savePicture(page: Page, name: string): Promise<void> {
  const width = await page.evaluate<number>('innerWidth');
  const height = Math.min(await page.evaluate<number>('document.body.scrollHeight'), PICTURE_HEIGHT_MAX);
  // An element in front of the page stands at the scrolled position, which a picture of the whole page would
  // miss.
  const isScrolled = (await page.evaluate('scrollY')) !== 0;
  const whole = { fullPage: true, clip: { x: 0, y: 0, width, height } };
  await page.screenshot({ path: join(PICTURES, name), ...(isScrolled ? {} : whole) });
}

/** Elements that stick out at the side, have more text than room, or are too small for a thumb. */
export function misfits(page: Scripted): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const visible = [...document.querySelectorAll('body *')].filter((each) => each.checkVisibility());
    const sticking = visible.filter((each) => each.getBoundingClientRect().right > innerWidth + 0.5 && getComputedStyle(each).position !== 'fixed' && !each.closest('.clip'));
    const small = visible.filter((each) => {
      const { width, height } = each.getBoundingClientRect();
      return each.matches('button, select, input, summary, a:not(.skip)') && Math.min(width, height) < ${TOUCH_MIN} - 0.1;
    });
    const spilling = visible.filter((each) => each.matches('button, a, p, h1, h2, dd') && each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX === 'visible');
    return [...sticking.map((each) => 'sticks out: ' + each.outerHTML.slice(0, 200)), ...spilling.map((each) => 'spills its text: ' + each.outerHTML.slice(0, 200)), ...small.map((each) => 'too small: ' + each.outerHTML.slice(0, 200))];
  })()`) as Promise<readonly string[]>;
}

/**
 * Goes through the tabs of a narrow page, beginning with the open one. There is only one step if a dialog
 * covers the tabs, or if the page is wide and shows everything at once.
 */
async function* eachTab(page: Page): AsyncGenerator<string> {
  yield '';
  const tabs = page.locator('.tab:not([aria-current])');
  const isCovered = (await page.locator('dialog[open], .tray').count()) > 0;
  if (isCovered || !(await page.locator('.tabs').isVisible())) return;
  for (const tab of await tabs.elementHandles()) {
    await tab.click();
    yield `-${await tab.textContent()}`;
  }
}

/** Declares a test for each state. */
export function testStates(states: Readonly<Record<string, State>>): void {
  describe('the page', { skip: lacks({ programs: ['chromium'] }) }, () => {
    let browser: OpenBrowser;
    /** A page for each language, because loading into an open one takes a third of the time of a new one. */
    const pages = new Map<string, Page>();
    const faults: string[] = [];
    before(async () => {
      browser = await openChromium({ locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce' });
    });
    const pageIn = async (language: string): Promise<Page> => {
      const open = pages.get(language);
      if (open !== undefined) return open;
      const page = await browser.context.newPage();
      pages.set(language, page);
      page.on('pageerror', (error) => faults.push(error.message));
      page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
      await page.addInitScript(`Object.defineProperty(navigator, 'languages', { value: ['${language}'] })`);
      return page;
    };
    after(() => browser.close());

    for (const [name, { node: state = {}, language = 'en', prepare, act }] of Object.entries(states)) {
      test(`in the state ${name}: no finding, nothing cut off, nothing too small`, async () => {
        const node = new NodeWithPage().up(state);
        prepare?.(node);
        const page = await pageIn(language);
        faults.length = 0;
        try {
          // A page behind another one is drawn once a second.
          await page.bringToFront();
          await page.setViewportSize({ width: WIDTHS[0], height: 740 });
          await page.goto(node.url);
          await page.locator('header .good').waitFor();
          await page.locator('#system .health').waitFor({ state: 'attached' });
          await act?.(page, node);
          await page.evaluate(axe.source);
          for (const width of WIDTHS) {
            await page.setViewportSize({ width, height: width < 500 ? 740 : 900 });
            for await (const tab of eachTab(page)) {
              for (const colorScheme of SCHEMES) {
                await page.emulateMedia({ colorScheme });
                if (PICTURES !== '') await savePicture(page, `${name}-${width}${tab}-${colorScheme}.png`);
                if (width !== WIDTHS[0]) continue;
                const rules = colorScheme === SCHEMES[0] ? AXE_TAGS : AXE_COLOURS;
                assert.deepEqual(await findings(page, rules), [], `${tab} ${colorScheme}`);
              }
              assert.deepEqual(await misfits(page), [], `${width} ${tab}`);
            }
          }
          assert.match(await page.title(), /living-room$/);
          if (!['restarting', 'refused'].includes(name)) assert.deepEqual(faults, []);
        } finally {
          await page.unrouteAll();
          await page.goto('about:blank');
          await node.close();
        }
      });
    }
  });
}
