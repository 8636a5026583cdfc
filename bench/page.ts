// The page with 150 streams, of which one changes 20 times a second, in Chromium with its CPU slowed six times: the tasks of more than
// 50 ms (those that a hand feels), while it loads and while it runs, and how old a change is when it is shown.
//   node build/bench/page.js [--quick] [--json]

import { setTimeout as pause } from 'node:timers/promises';
import { openChromium } from '../test/browser/chromium.js';
import { NodeWithPage, ORDINARY, stream } from '../test/browser/node-with-page.js';
import { quantile } from './support/figures.js';
import { measurement } from './support/measurement.js';
import type { Row } from './support/rows.js';

const STREAMS = 150;
const CHANGES = 200;
const EVERY_MS = 50;
const SLOWED = 6;

/** In the page: its long tasks, and when the first stream's volume showed what. */
const WATCH = `
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) window.longTasks.push([startTime, duration]);
  }).observe({ type: 'longtask', buffered: true });
  window.shown = [];
  addEventListener('DOMContentLoaded', () => {
    new MutationObserver(() => {
      const text = document.querySelector('.stream .slider-text')?.textContent;
      if (text !== undefined && text !== window.shown.at(-1)?.[0]) window.shown.push([text, Date.now()]);
    }).observe(document, { subtree: true, childList: true, characterData: true });
  });
`;

await measurement(async ({ ms }) => {
  const node = new NodeWithPage().up({
    audio: [
      ...(ORDINARY['audio'] ?? []).slice(0, 4),
      ...Array.from({ length: STREAMS }, (_, index) => stream(100 + index)),
    ],
  });
  const browser = await openChromium({ viewport: { width: 360, height: 740 } });
  try {
    const page = await browser.context.newPage();
    const devtools = await browser.context.newCDPSession(page);
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWED });
    await page.addInitScript(WATCH);
    await page.goto(node.url);
    await page
      .locator('.stream')
      .nth(STREAMS - 1)
      .waitFor({ state: 'attached' });
    await pause(1000);
    const loading = (await page.evaluate('window.longTasks.splice(0)')) as [number, number][];
    await page.evaluate('window.shown.splice(0)');
    const told = new Map<string, number>();
    for (let count = 0; count < ms(CHANGES); count += 1) {
      // Each another one, so that what is shown says which change it is of.
      told.set(`${count}%`, Date.now());
      node.change(
        'audio',
        stream(100, { volume: count / 100 }),
        stream(101 + (count % 149), { volume: count / 100 }),
      );
      await pause(EVERY_MS);
    }
    await pause(500);
    const running = (await page.evaluate('window.longTasks')) as [number, number][];
    const shown = (await page.evaluate('window.shown')) as [string, number][];
    const ages = shown.map(([text, at]) => at - (told.get(text) ?? at));
    const row = (what: string, unit: string, value: number): Row => ({
      what: `the page with ${STREAMS} streams, ${SLOWED} times slower: ${what}`,
      unit,
      taken: [value],
    });
    return [
      row('tasks over 50 ms while it loads', '', loading.length),
      row('the longest of them', 'ms', longest(loading)),
      row('tasks over 50 ms while it runs', '', running.length),
      row('the longest of those', 'ms', longest(running)),
      row('age of a change, p50', 'ms', quantile(ages, 0.5)),
      row('age of a change, p99', 'ms', quantile(ages, 0.99)),
      row(`changes shown of ${ms(CHANGES)}`, '', shown.length),
    ];
  } finally {
    await browser.close();
    await node.close();
  }
});

function longest(tasks: readonly (readonly [start: number, duration: number])[]): number {
  return Math.max(0, ...tasks.map(([, duration]) => duration));
}
