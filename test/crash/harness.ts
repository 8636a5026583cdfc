// Runs fixtures under a real supervisor in real threads, records what the supervisor reports, and lets a test
// wait until the reports fulfil a condition.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ResourceLimits } from 'node:worker_threads';
import { systemClock } from '../../src/host/clock.js';
import type { Backend, BackendHealth, ChildName } from '../../src/protocol/actor/backends.js';
import type { Answer } from '../../src/protocol/actor/commands.js';
import type { Change, ChildListener, Log, LogFields } from '../../src/protocol/actor/messages.js';
import type { LogLevel } from '../../src/protocol/actor/settings.js';
import { Supervisor, type SupervisorOptions } from '../../src/supervisor/supervisor.js';
import { HEAP_LIMITS, Threads } from '../../src/supervisor/threads.js';
import { DEFAULT_SETTINGS } from '../supervisor/config/full.js';

/** The paths of the fixtures are relative to this folder. */
const ROOT = new URL('./', import.meta.url);

/** How the supervisor describes the end of a thread whose module throws at load. */
export const THREW_AT_LOAD = /^thread ended: no such luck(?=;|$)/;

/** The supervisor restarts a child at once, however often it has died. */
const RESTARTS_AT_ONCE = {
  waitsMs: Array.from({ length: 1000 }, () => 0),
  windowMs: 60_000,
  pauseMs: 60_000,
};

/**
 * The longest wait of a test. A thread takes a second to start while twenty processes want two cores.
 */
const DEADLINE_MS = 60_000;

/**
 * The supervisor pings the threads far more often than in the product (`HEARTBEAT` in
 * supervisor/incarnation.ts). The wait for the pong is shorter, too, but not below 5 s, because a healthy
 * thread may be silent for seconds while it starts on a busy machine.
 */
export const QUICK_HEARTBEAT = { everyMs: 20, loadMs: 20, pongWithinMs: 5000, idleBeats: 3 };

/**
 * Only a child that ignores its stop takes this long. In the product the limit of a child is 1 s at most
 * (supervisor/policy.ts), but on a busy machine a thread that was just starting has taken 5 s to stop.
 */
const STOP_WITHIN_MS = 60_000;

/** The children to start, and for each the file of `fixtures/` that it runs, without its ending. */
export type Fixtures = { readonly [C in ChildName]?: string };

export interface Line {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

type SendFeed = Parameters<ChildListener['feedRequest']>[2];

/** Records everything that a supervisor reports, and checks the conditions of `until` at each report. */
export class ReportRecorder implements ChildListener {
  readonly healths: [ChildName, BackendHealth][] = [];
  /** Changes, levels, states and requests for feeds, in the order of their reports, as short texts. */
  readonly sequence: string[] = [];
  readonly lines: Line[] = [];
  readonly #pendingChecks = new Set<() => void>();

  changes(changes: readonly Change[]): void {
    for (const { kind, collection, key } of changes) this.sequence.push(`${kind} ${key || collection}`);
    this.#recheck();
  }

  level(json: string): void {
    this.sequence.push(`level ${json}`);
    this.#recheck();
  }

  health(child: ChildName, health: BackendHealth): void {
    this.healths.push([child, health]);
    this.sequence.push(health.state);
    this.#recheck();
  }

  /** Sends changes to the thread whose request for a feed was the newest. */
  send: SendFeed = () => assert.fail('no thread has requested its feed');

  feedRequest(child: ChildName, isFirst: boolean, send: SendFeed): void {
    this.send = send;
    this.sequence.push(isFirst ? `${child} requests its first feed` : `${child} requests its next feed`);
    this.#recheck();
  }

  /** A bridge's request is answered with the request itself. */
  childRequest: ChildListener['childRequest'] = async (_child, { operation, body = '' }) => ({
    status: 200,
    body: `${operation} ${JSON.stringify(body)}`,
  });

  readonly log: Log = (level, message, fields = {}) => {
    this.lines.push({ level, message, fields });
    this.#recheck();
  };

  /** The newest health of a child. */
  healthOf(name: ChildName): BackendHealth | undefined {
    return this.healths.findLast(([child]) => child === name)?.[1];
  }

  /** All states of a child, in the order of the reports. */
  statesOf(name: ChildName): string[] {
    return this.healths.filter(([child]) => child === name).map(([, { state }]) => state);
  }

  /**
   * Resolves as soon as `condition` is true after a report. Rejects at the deadline with the last reports.
   */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void): void => {
        clearTimeout(deadline);
        this.#pendingChecks.delete(check);
        finish();
      };
      const check = (): void => {
        if (condition()) settle(resolve);
      };
      const rejectAtDeadline = (): void => {
        const actual = JSON.stringify(this.healths.slice(-9));
        settle(() => reject(new Error(`waited ${DEADLINE_MS} ms in vain; last: ${actual}`)));
      };
      const deadline = setTimeout(rejectAtDeadline, DEADLINE_MS);
      this.#pendingChecks.add(check);
      check();
    });
  }

  untilState(name: ChildName, state: string, restartsMin = 0): Promise<void> {
    return this.until(() => {
      const health = this.healthOf(name);
      return health?.state === state && health.restarts >= restartsMin;
    });
  }

  #recheck(): void {
    for (const check of [...this.#pendingChecks]) check();
  }
}

export interface Supervised {
  readonly supervisor: Supervisor;
  readonly recorder: ReportRecorder;
  /** Sends the child a command with a word that its fixture obeys, and resolves with the answer. */
  readonly ask: (backend: Backend, word: string) => Promise<Answer>;
}

export interface SupervisedOptions extends Partial<SupervisorOptions> {
  /** How long these children may take to stop. All others have `STOP_WITHIN_MS`. */
  readonly stopWithinMs?: Partial<Record<ChildName, number>>;
  readonly heapLimits?: ResourceLimits;
  /** The fixture whose thread is started before its child needs it. */
  readonly warmUp?: string;
  /** Children whose thread starts with the first command. */
  readonly onDemand?: readonly string[];
}

export function makeSupervisor(
  fixtures: Fixtures,
  { stopWithinMs = {}, heapLimits = HEAP_LIMITS, warmUp, onDemand = [], ...options }: SupervisedOptions = {},
): Supervised {
  const recorder = new ReportRecorder();
  const threads = new Threads(heapLimits, options.clock ?? systemClock);
  if (warmUp !== undefined) threads.preload(fileURLToPath(new URL(`fixtures/${warmUp}.js`, ROOT)));
  const supervisor = new Supervisor({
    settings: DEFAULT_SETTINGS,
    root: ROOT,
    log: recorder.log,
    children: Object.entries(fixtures).map(([name, fixture]) => ({
      name: name as ChildName,
      actorFile: `fixtures/${fixture}.js`,
      isEnabled: () => true,
      stopWithinMs: stopWithinMs[name as ChildName] ?? STOP_WITHIN_MS,
      isOnDemand: onDemand.includes(name),
    })),
    restarts: RESTARTS_AT_ONCE,
    threads,
    ...options,
  });
  // Every fixture takes the commands of the audio backend, whatever the name of its child is.
  const ask = (backend: Backend, word: string) =>
    supervisor.ask<Backend>(backend, { do: 'default', output: word });
  return { supervisor, recorder, ask };
}

/** The kind of an answer's fault, or `none`. */
export const faultOf = (answer: Answer): string => (answer.ok ? 'none' : answer.error.fault);

/** Starts a supervisor, and stops it at the end of the test. */
export function startChildren(t: TestContext, ...args: Parameters<typeof makeSupervisor>): Supervised {
  const supervised = makeSupervisor(...args);
  t.after(() => supervised.supervisor.stop());
  supervised.supervisor.start(supervised.recorder);
  return supervised;
}

/** Like `startChildren`, but resolves when all children are up. */
export async function childrenUp(
  t: TestContext,
  ...args: Parameters<typeof makeSupervisor>
): Promise<Supervised> {
  const supervised = startChildren(t, ...args);
  const [fixtures] = args;
  for (const name of Object.keys(fixtures)) await supervised.recorder.untilState(name as ChildName, 'up');
  return supervised;
}
