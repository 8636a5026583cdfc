// The page with 150 streams, of which one changes 20 times a second: its tasks of more than 50 ms (those that a hand feels) with the
// CPU slowed six times, and how old a change is when it is shown. By the clock, which other programs on the machine lengthen; and by
// the CPU time of the same at full speed, six times: that says what a task is. Then how soon a second browser shows what a hand does.
//   node build/bench/page.js

import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { openChromium } from '../test/browser/chromium.js';
import { NodeWithPage, ORDINARY, stream } from '../test/browser/node-with-page.js';
import { AUDIO_ONLY } from '../test/contract/audio-node.js';
import { Daemon } from '../test/contract/daemon.js';
import { startPulseAudio } from '../test/sound/servers.js';
import { quantile, rounded } from './support/figures.js';
import { type Task, tasksWhile } from './support/page-tasks.js';

const STREAMS = 150;
const CHANGES = 200;
const EVERY_MS = 50;
const SLOWED = 6;
const TASK_MS_MAX = 50;
/** All at once, so often. */
const TURNS = 5;
const REST_MS = 1500;
const PRESSES = 90;
const BETWEEN_PRESSES_MS = 100;

const IDS = Array.from({ length: STREAMS }, (_, index) => 100 + index);
const AUDIO = [...(ORDINARY['audio'] ?? []).slice(0, 4), ...IDS.map((id) => stream(id))];

/** In the page: notes each text of the first `within` that says a volume, and when it was shown. */
const watchText = (within: string): string => `
  window.shown = [];
  new MutationObserver(() => window.shown.push([document.querySelector('${within} .slider-text').textContent, Date.now()]))
    .observe(document.querySelector('${within} .slider-text'), { subtree: true, childList: true, characterData: true });
`;

type Shown = readonly (readonly [text: string, at: number])[];

interface Part {
  readonly name: string;
  readonly run: () => Promise<unknown>;
}

/** Of one page at one speed. */
async function measure(slowed: number): Promise<{ parts: Map<string, readonly Task[]>; ages: number[] }> {
  const node = new NodeWithPage().up({ audio: AUDIO });
  const browser = await openChromium({ viewport: { width: 360, height: 740 } });
  try {
    const page = await browser.context.newPage();
    const devtools = await browser.context.newCDPSession(page);
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: slowed });
    const parts = new Map<string, readonly Task[]>();
    const loading = await tasksWhile(devtools, async () => {
      await page.goto(node.url);
      await pause(REST_MS * slowed);
    });
    parts.set(
      'document (the browser alone)',
      loading.filter(({ isBeforeScript }) => isBeforeScript),
    );
    parts.set(
      'loading',
      loading.filter(({ isBeforeScript }) => !isBeforeScript),
    );
    await page.evaluate(watchText('.stream'));
    const told = new Map<string, number>();
    parts.set('running', await tasksWhile(devtools, () => change(node, told)));
    const shown = (await page.evaluate('window.shown')) as Shown;
    for (const { name, run } of stormsOf(node)) parts.set(name, await tasksWhile(devtools, run));
    return { parts, ages: agesOf(shown, told) };
  } finally {
    await browser.close();
    await node.close();
  }
}

/** `told` is filled with what the first stream's volume is told to be, and when. */
async function change(node: NodeWithPage, told: Map<string, number>): Promise<void> {
  for (let count = 0; count < CHANGES; count += 1) {
    // Each another one, so that what is shown says which change it is of.
    const volume = count / 100;
    told.set(`${count}%`, Date.now());
    node.change('audio', stream(100, { volume }), stream(101 + (count % (STREAMS - 1)), { volume }));
    await pause(EVERY_MS);
  }
  await pause(REST_MS);
}

function stormsOf(node: NodeWithPage): readonly Part[] {
  const repeatedly =
    (...steps: readonly (() => unknown)[]) =>
    async (): Promise<void> => {
      for (let turn = 0; turn < TURNS; turn += 1) {
        for (const step of steps) {
          step();
          await pause(REST_MS);
        }
      }
    };
  return [
    {
      name: 'all change at once',
      run: repeatedly(
        () => node.change('audio', ...IDS.map((id) => stream(id, { volume: 0.2 }))),
        () => node.change('audio', ...IDS.map((id) => stream(id, { volume: 0.7 }))),
      ),
    },
    {
      name: 'all go, all come',
      run: repeatedly(
        () =>
          node.change(
            'audio',
            ...IDS.map((id) => ({ kind: 'drop', collection: 'audio.clients', key: String(id) }) as const),
          ),
        () => node.change('audio', ...IDS.map((id) => stream(id))),
      ),
    },
    {
      name: 'the sound server goes and comes',
      run: repeatedly(
        () => node.health('audio', 'connecting'),
        () => {
          node.change('audio', ...AUDIO);
          node.health('audio', 'up');
        },
      ),
    },
  ];
}

function agesOf(shown: Shown, told: ReadonlyMap<string, number>): number[] {
  return shown.flatMap(([text, at]) => {
    const since = told.get(text);
    return since === undefined ? [] : [at - since];
  });
}

const over = (times: readonly number[]): number => times.filter((ms) => ms > TASK_MS_MAX).length;
const most = (times: readonly number[]): number => rounded(Math.max(0, ...times), 0);

/** From a key on one page to what another browser's page shows, in ms, with the daemon and the sound server between. */
async function followed(): Promise<readonly number[]> {
  const sound = await startPulseAudio();
  const daemon = await Daemon.start({ env: sound.env, config: AUDIO_ONLY });
  await daemon.backend('audio', 'up');
  const browsers = await Promise.all([openChromium({ locale: 'en' }), openChromium({ locale: 'en' })]);
  const open = async ({ context }: (typeof browsers)[number]): Promise<Page> => {
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${daemon.port}/ui`);
    await page.locator('.output').first().waitFor();
    return page;
  };
  try {
    const [hand, eye] = await Promise.all([open(browsers[0]), open(browsers[1])]);
    await eye.evaluate(watchText('.output'));
    await hand.evaluate(`window.set = [];
      addEventListener('input', ({ target }) => window.set.push([target.value + '%', Date.now()]), true);
      document.querySelector('.output input').focus()`);
    for (let press = 0; press < PRESSES; press += 1) {
      await hand.keyboard.press('ArrowLeft');
      await pause(BETWEEN_PRESSES_MS);
    }
    await pause(REST_MS);
    const set = (await hand.evaluate('window.set')) as Shown;
    return agesOf((await eye.evaluate('window.shown')) as Shown, new Map(set));
  } finally {
    for (const browser of browsers) await browser.close();
    await daemon.stop();
    await sound.stop();
  }
}

const spread = (what: string, times: readonly number[]): object => ({
  what,
  count: times.length,
  'p50, ms': rounded(quantile(times, 0.5), 0),
  'p99, ms': rounded(quantile(times, 0.99), 0),
});

const slow = await measure(SLOWED);
const full = await measure(1);
console.table(
  [...slow.parts].map(([part, tasks]) => {
    const byClock = tasks.map(({ wallMs }) => wallMs);
    const byCpu = (full.parts.get(part) ?? []).map(({ cpuMs }) => cpuMs * SLOWED);
    return {
      part,
      'over 50 ms': over(byClock),
      'longest, ms': most(byClock),
      'over 50 ms, 6 x CPU': over(byCpu),
      'longest, 6 x CPU': most(byCpu),
    };
  }),
);
console.table([
  spread('slowed six times: a change to its being shown (goal 300)', slow.ages),
  spread('a key to what a second browser shows (goal 100)', await followed()),
]);
