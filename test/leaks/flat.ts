// Checks that an action can be repeated without leaving anything behind. It is repeated in rounds. After
// each round the process is measured: heap and external memory after a garbage collection, descriptors,
// timers and other handles, listeners.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { until } from '../until.js';

/** True in `npm run soak`, which repeats an action `full` times. `npm test` repeats it only `part` times. */
const isFullSize = process.env['TONEARM_LEAKS'] === 'full';

/**
 * The second quarter of the rounds is compared with the last quarter. The first quarter is ignored, because
 * it fills caches and compiles code.
 */
const ROUNDS = 12;
const QUARTER = ROUNDS / 4;
/**
 * Growth up to this bound does not count as a leak, because the heap varies by 500 kB by chance. The middles
 * of the two quarters are half of all repetitions apart. So a leak is found if half of the repetitions leave
 * more than this behind.
 */
const HEAP_SLACK_BYTES = 1024 * 1024;
/** The same bound for buffers. Node.js allocates them outside of the heap, in pools. */
const EXTERNAL_SLACK_BYTES = 1024 * 1024;
/** After a round, connections are still being closed. The measurement waits at most this long for them. */
const SETTLED_WITHIN_MS = 30_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

interface Resources {
  readonly heap: number;
  readonly external: number;
  readonly descriptors: number;
  /** Sockets, timers, workers and the like, by kind. */
  readonly handles: readonly string[];
  readonly listeners: number;
}

async function measureResources(): Promise<Resources> {
  // A collection runs finalizers. Only the next collection frees what the finalizers release.
  for (let times = 0; times < 3; times += 1) {
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed: heap, external } = process.memoryUsage();
  return {
    heap,
    external,
    descriptors: readdirSync('/proc/self/fd').length,
    handles: process.getActiveResourcesInfo().sort(),
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
  };
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

export interface Repeated {
  /** The number of repetitions in `npm run soak`. */
  readonly full: number;
  /** The number of repetitions in `npm test`. */
  readonly part: number;
  /** Repeats the tested action `times` times. */
  readonly round: (times: number) => Promise<void>;
}

/** Makes a round that repeats `once`. Then it empties `lists`, because their items would count as a leak. */
export const repeating =
  (once: () => Promise<void>, ...lists: readonly unknown[][]): Repeated['round'] =>
  async (times) => {
    for (let done = 0; done < times; done += 1) await once();
    for (const list of lists) list.length = 0;
  };

const kb = (bytes: number): string => `${Math.round(bytes / 1024)} kB`;

/** Repeats the round. Fails if the process has more resources in the last quarter than in the second. */
export async function staysFlat(t: TestContext, { full, part, round }: Repeated): Promise<void> {
  const times = Math.ceil((isFullSize ? full : part) / ROUNDS);
  const measured: Resources[] = [];
  while (measured.length < ROUNDS) {
    await round(times);
    const before = measured.at(-1);
    const resourcesAtRest = async (): Promise<Resources | false> => {
      const now = await measureResources();
      if (before === undefined) return now;
      // There may be fewer handles now, because the earlier measurement may have counted a timer that ended.
      const haveHandlesEnded = now.handles.length <= before.handles.length;
      const isAtRest = haveHandlesEnded && now.descriptors === before.descriptors;
      return isAtRest ? now : false;
    };
    const atRest = until('the process is at rest', resourcesAtRest, SETTLED_WITHIN_MS);
    // If the process is not at rest in time, it is measured anyway, and the checks below find the leak.
    measured.push(await atRest.catch(() => measureResources()));
  }
  const early = measured.slice(QUARTER, 2 * QUARTER);
  const late = measured.slice(-QUARTER);
  const growthOf = (figure: 'heap' | 'external' | 'descriptors' | 'listeners'): number =>
    median(late.map((resources) => resources[figure])) - median(early.map((resources) => resources[figure]));

  const last = measured.at(-1);
  t.diagnostic(
    `${times * ROUNDS} times: heap ${kb(last?.heap ?? 0)} (${kb(growthOf('heap'))}), external ${kb(last?.external ?? 0)} (${kb(growthOf('external'))}), ${last?.descriptors} descriptors, ${last?.listeners} listeners, ${last?.handles.join(' ')}`,
  );
  assert.ok(growthOf('heap') < HEAP_SLACK_BYTES, `the heap has grown by ${kb(growthOf('heap'))}`);
  assert.ok(
    growthOf('external') < EXTERNAL_SLACK_BYTES,
    `external memory has grown: ${kb(growthOf('external'))}`,
  );
  assert.equal(growthOf('descriptors'), 0, 'descriptors');
  assert.equal(growthOf('listeners'), 0, 'listeners');
  // A measurement may also count a timer that ends by itself. A handle that is left behind is in every late
  // measurement. So the lowest late number is compared with the highest early one.
  const leastLate = Math.min(...late.map(({ handles }) => handles.length));
  const mostEarly = Math.max(...early.map(({ handles }) => handles.length));
  assert.ok(leastLate <= mostEarly, `timers and handles: ${early[0]?.handles} have become ${last?.handles}`);
}
