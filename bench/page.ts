// Measures the page with 64 streams of sound, two of which change every 50 ms. It measures the longest tasks
// with the CPU slowed six times, and counts those of more than 50 ms, which a user notices. It measures the
// same for an empty page and for garbage collections. Then it measures how old a change is when it is shown,
// also in a second browser.
//   node build/bench/page.js [--quick] [--json]

import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { openChromium } from '../test/browser/chromium.js';
import { NodeWithPage, ORDINARY, stream } from '../test/browser/node-with-page.js';
import { AUDIO_ONLY } from '../test/contract/audio-node.js';
import { Daemon } from '../test/contract/daemon.js';
import { startPulseAudio } from '../test/sound/servers.js';
import { quantile } from './support/figures.js';
import { type Context, measurement } from './support/measurement.js';
import { type Task, tasksWhile } from './support/page-tasks.js';
import type { Row } from './support/rows.js';

const STREAMS = 64;
const CHANGES = 200;
const EVERY_MS = 50;
const SLOWED = 6;
const TASK_MAX_MS = 50;
const DISPLAYED_MAX_MS = 300;
const FOLLOWED_MAX_MS = 100;
const FLOOR = 'an empty page, before its script';
/**
 * All parts share one row of garbage collections, because the browser may begin one in any part. A garbage
 * collection takes longer if the page has more on it.
 */
const COLLECTIONS = 'full collections of garbage';
/** Each storm of changes is repeated this often. */
const TURNS = 5;
const REST_MS = 1500;
const PRESSES = 90;
const BETWEEN_PRESSES_MS = 100;

/**
 * With this step an arrow key moves a volume by 1 %, as it moves the browser's own slider. So the value of
 * the `input` event on one page is the text that the other page shows then.
 */
const STEP_OF_ONE = 'ui: {volumeStep: 1}';

const IDS = Array.from({ length: STREAMS }, (_, index) => 100 + index);
/** An empty page with a timer, by which `tasksWhile` finds its thread. */
const EMPTY_PAGE = new Map([
  [
    'index.html',
    {
      identity: Buffer.from(
        '<!doctype html><title>-</title><script type="module" src="/ui/app.js"></script>',
      ),
    },
  ],
  ['app.js', { identity: Buffer.from('setInterval(() => undefined, 50);') }],
]);

/** The first four records are the sound server's kind and state, the sleep timer, and one output. */
const AUDIO = [...ORDINARY.audio.slice(0, 4), ...IDS.map((id) => stream(id))];

/**
 * A script that runs in the page. It notes each text that shows a volume in the first element that matches
 * the selector `within`, and when the text was shown.
 */
const watchText = (within: string): string => `
  window.shown = [];
  new MutationObserver(() => window.shown.push([document.querySelector('${within} .slider-text').textContent, Date.now()]))
    .observe(document.querySelector('${within} .slider-text'), { subtree: true, childList: true, characterData: true });
`;

type TextChanges = readonly (readonly [text: string, at: number])[];

interface Storm {
  readonly name: string;
  readonly run: () => Promise<unknown>;
}

/**
 * The browser's tasks for an empty page of the same gateway, until its script begins. The browser has these
 * for any page.
 */
async function measureEmptyPage(slowed: number): Promise<readonly Task[]> {
  const node = new NodeWithPage({}, EMPTY_PAGE);
  const browser = await openChromium();
  try {
    const page = await browser.context.newPage();
    const devtools = await browser.context.newCDPSession(page);
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: slowed });
    const tasks = await tasksWhile(devtools, async () => {
      await page.goto(node.url);
      await pause(REST_MS);
    });
    return tasks.filter(({ isBeforeScript }) => isBeforeScript);
  } finally {
    await browser.close();
    await node.close();
  }
}

/**
 * Measures one page at one speed. The rows show the longest task of each part, by the clock and by CPU time.
 * The time by the clock is that of the slowed page, and other programs on the machine lengthen it. The CPU
 * time is a task's own work, but only at full speed. So it is measured at full speed, and multiplied by six.
 */
async function measurePage(
  slowed: number,
  context: Context,
): Promise<{ parts: Map<string, readonly Task[]>; ages: number[] }> {
  const node = new NodeWithPage().up({ audio: AUDIO });
  const browser = await openChromium({ viewport: { width: 360, height: 740 } });
  try {
    const page = await browser.context.newPage();
    const devtools = await browser.context.newCDPSession(page);
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: slowed });
    const parts = new Map([[FLOOR, await measureEmptyPage(slowed)]]);
    const loading = await tasksWhile(devtools, async () => {
      await page.goto(node.url);
      await pause(REST_MS * slowed);
    });
    parts.set(
      'document, before its script',
      loading.filter(({ isBeforeScript }) => isBeforeScript),
    );
    parts.set(
      'loading',
      loading.filter(({ isBeforeScript }) => !isBeforeScript),
    );
    await page.evaluate("document.querySelector('.fold button').focus()");
    parts.set(
      'all streams unfolded',
      await tasksWhile(devtools, async () => {
        await page.keyboard.press('Enter');
        await pause(REST_MS * slowed);
      }),
    );
    await page.evaluate(watchText('.stream'));
    const reported = new Map<string, number>();
    parts.set(
      'running',
      await tasksWhile(devtools, () => changeVolumes(node, context.ms(CHANGES), reported)),
    );
    const changes = (await page.evaluate('window.shown')) as TextChanges;
    for (const { name, run } of stormsOf(node, context.rounds(TURNS)))
      parts.set(name, await tasksWhile(devtools, run));
    return { parts: withCollectionsApart(parts), ages: agesOf(changes, reported) };
  } finally {
    await browser.close();
    await node.close();
  }
}

function withCollectionsApart(parts: ReadonlyMap<string, readonly Task[]>): Map<string, readonly Task[]> {
  const others = [...parts].map(
    ([part, tasks]) => [part, tasks.filter(({ isCollection }) => !isCollection)] as const,
  );
  const collections = [...parts.values()].flat().filter(({ isCollection }) => isCollection);
  return new Map([...others, [COLLECTIONS, collections]]);
}

/** `reported` is filled with the volumes that the first stream is set to, and the time of each change. */
async function changeVolumes(
  node: NodeWithPage,
  changes: number,
  reported: Map<string, number>,
): Promise<void> {
  for (let count = 0; count < changes; count += 1) {
    // Each volume is different, so that the text on the page identifies the change.
    const volume = count / 100;
    reported.set(`${count}%`, Date.now());
    node.change(stream(100, { volume }), stream(101 + (count % (STREAMS - 1)), { volume }));
    await pause(EVERY_MS);
  }
  await pause(REST_MS);
}

function stormsOf(node: NodeWithPage, turns: number): readonly Storm[] {
  const repeatedly =
    (...steps: readonly (() => unknown)[]) =>
    async (): Promise<void> => {
      for (let turn = 0; turn < turns; turn += 1) {
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
        () => node.change(...IDS.map((id) => stream(id, { volume: 0.2 }))),
        () => node.change(...IDS.map((id) => stream(id, { volume: 0.7 }))),
      ),
    },
    {
      name: 'all go, all come',
      run: repeatedly(
        () =>
          node.change(
            ...IDS.map((id) => ({ kind: 'drop', collection: 'audio.clients', key: String(id) }) as const),
          ),
        () => node.change(...IDS.map((id) => stream(id))),
      ),
    },
    {
      name: 'the sound server goes and comes',
      run: repeatedly(
        () => node.health('audio', 'connecting'),
        () => {
          node.change(...AUDIO);
          node.health('audio', 'up');
        },
      ),
    },
  ];
}

function agesOf(changes: TextChanges, reported: ReadonlyMap<string, number>): number[] {
  return changes.flatMap(([text, at]) => {
    const since = reported.get(text);
    return since === undefined ? [] : [at - since];
  });
}

/**
 * From a key on one page to what another browser's page shows, in ms, with the daemon and the sound server
 * between.
 */
async function measureFollowing(presses: number): Promise<readonly number[]> {
  const sound = await startPulseAudio();
  const daemon = await Daemon.start({ env: sound.env, config: AUDIO_ONLY, api: STEP_OF_ONE });
  await daemon.untilBackend('audio', 'up');
  const browsers = await Promise.all([openChromium({ locale: 'en' }), openChromium({ locale: 'en' })]);
  const open = async ({ context }: (typeof browsers)[number]): Promise<Page> => {
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${daemon.port}/ui`);
    await page.locator('.output').first().waitFor();
    return page;
  };
  try {
    const [actingPage, watchingPage] = await Promise.all([open(browsers[0]), open(browsers[1])]);
    await watchingPage.evaluate(watchText('.output'));
    await actingPage.evaluate(`window.set = [];
      addEventListener('input', ({ target }) => window.set.push([target.value + '%', Date.now()]), true);
      document.querySelector('.output input').focus()`);
    for (let press = 0; press < presses; press += 1) {
      await actingPage.keyboard.press('ArrowLeft');
      await pause(BETWEEN_PRESSES_MS);
    }
    await pause(REST_MS);
    const changes = (await actingPage.evaluate('window.set')) as TextChanges;
    return agesOf((await watchingPage.evaluate('window.shown')) as TextChanges, new Map(changes));
  } finally {
    for (const browser of browsers) await browser.close();
    await daemon.stop();
    await sound.stop();
  }
}

/** The longest task of a part, and the number of its tasks that a user notices. */
function longestTaskRow(part: string, clock: string, times: readonly number[]): Row {
  const over = times.filter((ms) => ms > TASK_MAX_MS).length;
  return {
    what: `page, ${STREAMS} streams, slowed ${SLOWED} times, ${part}: longest task by ${clock} (over ${TASK_MAX_MS} ms: ${over})`,
    unit: 'ms',
    samples: [Math.max(0, ...times)],
    ...(part !== FLOOR && { goal: { of: 'result', atMost: TASK_MAX_MS } }),
  };
}

/** @throws {Error} if nothing was measured, because the page has changed and this file has not */
function p99Row(what: string, times: readonly number[], atMost: number): Row {
  if (times.length === 0) throw new Error(`${what}: no change was shown`);
  return {
    what: `${what}, p99`,
    unit: 'ms',
    samples: [quantile(times, 0.99)],
    goal: { of: 'result', atMost },
  };
}

await measurement(async (context) => {
  const slowed = await measurePage(SLOWED, context);
  const unslowed = await measurePage(1, context);
  const tasks = [...slowed.parts].flatMap(([part, slowTasks]) => [
    longestTaskRow(
      part,
      'the clock',
      slowTasks.map(({ wallMs }) => wallMs),
    ),
    longestTaskRow(
      part,
      'CPU time',
      (unslowed.parts.get(part) ?? []).map(({ cpuMs }) => cpuMs * SLOWED),
    ),
  ]);
  return [
    ...tasks,
    p99Row(
      `page, ${STREAMS} streams, slowed ${SLOWED} times: a change to its being shown`,
      slowed.ages,
      DISPLAYED_MAX_MS,
    ),
    p99Row(
      'a key to what a second browser shows',
      await measureFollowing(context.ms(PRESSES)),
      FOLLOWED_MAX_MS,
    ),
  ];
});
