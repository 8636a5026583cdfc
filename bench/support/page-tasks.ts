// Reads the tasks of a page's main thread from Chromium's own trace. Each task has its CPU time, because
// other programs on the machine lengthen only the time by the clock.

import type { CDPSession } from 'playwright-core';

const CATEGORIES = ['devtools.timeline', 'disabled-by-default-devtools.timeline'];
const US_PER_MS = 1000;

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  /** CPU time of the thread. */
  readonly tdur?: number;
}

export interface Task {
  readonly wallMs: number;
  readonly cpuMs: number;
  /**
   * True if the task ended before the page's script began. It is work of the browser on the document then.
   */
  readonly isBeforeScript: boolean;
  /** True if most of the task is a full collection of garbage, which the browser begins at any time. */
  readonly isCollection: boolean;
}

/** The tasks of the thread that runs the page's timers, while `work` is under way. */
export async function tasksWhile(
  devtools: CDPSession,
  work: () => Promise<unknown>,
): Promise<readonly Task[]> {
  const events: TraceEvent[] = [];
  const collect = ({ value }: { value: object[] }): number => events.push(...(value as TraceEvent[]));
  devtools.on('Tracing.dataCollected', collect);
  await devtools.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: CATEGORIES },
  });
  await work();
  const complete = new Promise((resolve) => devtools.once('Tracing.tracingComplete', resolve));
  await devtools.send('Tracing.end');
  await complete;
  devtools.off('Tracing.dataCollected', collect);
  return tasksIn(events);
}

function tasksIn(events: readonly TraceEvent[]): readonly Task[] {
  const thread = busiestThread(events.filter(({ name }) => name === 'TimerFire'));
  const eventsOfThread = events.filter((event) => threadOf(event) === thread);
  const script = eventsOfThread.find(({ name }) => name === 'v8.evaluateModule')?.ts ?? 0;
  const collections = eventsOfThread.filter(({ name }) => name === 'MajorGC');
  const isCollection = ({ ts, dur = 0 }: TraceEvent): boolean =>
    collections.some(
      (collection) => collection.ts >= ts && collection.ts <= ts + dur && (collection.dur ?? 0) > dur / 2,
    );
  return eventsOfThread
    .filter(({ name, dur }) => name === 'RunTask' && dur !== undefined)
    .map((task) => {
      const { ts, dur = 0, tdur = dur } = task;
      return {
        wallMs: dur / US_PER_MS,
        cpuMs: tdur / US_PER_MS,
        isBeforeScript: ts + dur <= script,
        isCollection: isCollection(task),
      };
    });
}

function threadOf({ pid, tid }: TraceEvent): string {
  return `${pid}/${tid}`;
}

function busiestThread(events: readonly TraceEvent[]): string | undefined {
  const counts = new Map<string, number>();
  for (const event of events) counts.set(threadOf(event), (counts.get(threadOf(event)) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}
