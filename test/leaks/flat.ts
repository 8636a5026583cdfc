// Checks that something can be repeated without leaving anything behind: it is done in rounds, and after each
// the process is measured: heap and other memory after a collection, descriptors, timers and handles,
// listeners.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { until } from '../until.js';

/** At full size by `npm run soak`; a part of it each time in `npm test`. */
const isFullSize = process.env['TONEARM_LEAKS'] === 'full';

/** The first quarter fills caches and has code compiled. The second quarter is compared with the last. */
const ROUNDS = 12;
const QUARTER = ROUNDS / 4;
/**
 * V8 keeps 500 kB more or less by chance. A leak of twice this bound, divided by the number of repetitions,
 * is found.
 */
const HEAP_SLACK_BYTES = 1024 * 1024;
/** For buffers outside of the heap: pools come in larger portions. */
const EXTERNAL_SLACK_BYTES = 1024 * 1024;
/** Behind a round, connections are still being closed. */
const SETTLED_WITHIN_MS = 30_000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

interface Resources {
  readonly heap: number;
  readonly external: number;
  readonly descriptors: number;
  /** Sockets, timers, workers and the like, by kind. */
  readonly handles: readonly string[];
  readonly listeners: number;
}

async function resources(): Promise<Resources> {
  // Finalizers of what the first one frees free more.
  for (let times = 0; times < 3; times += 1) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed: heap, external } = process.memoryUsage();
  return {
    heap,
    external,
    descriptors: readdirSync('/proc/self/fd').length,
    handles: process.getActiveResourcesInfo().sort(),
    listeners: process.eventNames().reduce((all, name) => all + process.listenerCount(name), 0),
  };
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

export interface Repeated {
  readonly full: number;
  /** In `npm test`. */
  readonly part: number;
  /** Does it so many times. */
  readonly round: (times: number) => Promise<void>;
}

/** A round that does it one time after the other, and then empties what the test has noted. */
export const again =
  (once: () => Promise<void>, ...notes: readonly unknown[][]): Repeated['round'] =>
  async (times) => {
    for (let done = 0; done < times; done += 1) await once();
    for (const noted of notes) noted.length = 0;
  };

const kb = (bytes: number): string => `${Math.round(bytes / 1024)} kB`;

/** Fails with what has grown. */
export async function staysFlat(t: TestContext, { full, part, round }: Repeated): Promise<void> {
  const times = Math.ceil((isFullSize ? full : part) / ROUNDS);
  const all: Resources[] = [];
  for (let rounds = 0; rounds < ROUNDS; rounds += 1) {
    await round(times);
    const before = all.at(-1);
    const isAsBefore = async (): Promise<Resources | false> => {
      const now = await resources();
      const { handles, descriptors } = before ?? now;
      return now.handles.length <= handles.length && now.descriptors === descriptors && now;
    };
    // If it does not come to rest, the checks below find that.
    all.push(await until('rest', isAsBefore, SETTLED_WITHIN_MS).catch(resources));
  }
  const early = all.slice(QUARTER, 2 * QUARTER);
  const late = all.slice(-QUARTER);
  const grown = (of: 'heap' | 'external' | 'descriptors' | 'listeners'): number =>
    median(late.map((each) => each[of])) - median(early.map((each) => each[of]));
  const last = all.at(-1);
  t.diagnostic(
    `${times * ROUNDS} times: heap ${kb(last?.heap ?? 0)} (${kb(grown('heap'))}), external ${kb(last?.external ?? 0)} (${kb(grown('external'))}), ${last?.descriptors} descriptors, ${last?.listeners} listeners, ${last?.handles.join(' ')}`,
  );
  assert.ok(grown('heap') < HEAP_SLACK_BYTES, `the heap has grown by ${kb(grown('heap'))}`);
  assert.ok(grown('external') < EXTERNAL_SLACK_BYTES, `external memory has grown: ${kb(grown('external'))}`);
  assert.equal(grown('descriptors'), 0, 'descriptors');
  assert.equal(grown('listeners'), 0, 'listeners');
  // One that is looked at while a timer runs that will end by itself has one more: what is left behind is
  // more in every late one.
  const least = Math.min(...late.map(({ handles }) => handles.length));
  const most = Math.max(...early.map(({ handles }) => handles.length));
  assert.ok(least <= most, `timers and handles: ${early[0]?.handles} have become ${last?.handles}`);
}
