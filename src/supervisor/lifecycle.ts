// A child's life as a state machine: the effects of each signal, when a dead child is restarted, and the health that clients see
// (docs/http-api.md, "Backends that are away"). Pure: it returns effects, and starts no thread and no timer.

import type { BackendHealth, BackendState } from '../protocol/actor/backends.js';

export type Phase = 'starting' | 'connecting' | 'up' | 'restarting' | 'failed' | 'stopping' | 'stopped';

export interface Lifecycle {
  readonly phase: Phase;
  /** Deaths of the thread since the process started. */
  readonly restarts: number;
  /** Times of recent deaths, oldest first. */
  readonly deaths: readonly number[];
  /** The reason why it is not up, for `/health`. */
  readonly detail?: string;
}

export type LifeSignal =
  | { readonly kind: 'start' }
  /** The actor's report about its peer. */
  | { readonly kind: 'status'; readonly state: 'connecting' | 'up'; readonly detail?: string }
  /** The thread has ended; `at` is on the monotonic clock. */
  | { readonly kind: 'ended'; readonly how: string; readonly at: number }
  | { readonly kind: 'due' }
  | { readonly kind: 'stop' };

/** There is no effect to cancel the timer: every change of phase does. */
export type LifeEffect =
  | { readonly kind: 'spawn' }
  | { readonly kind: 'set timer'; readonly ms: number }
  | { readonly kind: 'ask to stop' }
  | { readonly kind: 'kill' };

export interface LifeStep {
  readonly next: Lifecycle;
  readonly effects: readonly LifeEffect[];
}

export interface LifecyclePolicy {
  readonly restarts: RestartPolicy;
  readonly stopWithinMs: number;
}

export const UNBORN: Lifecycle = { phase: 'stopped', restarts: 0, deaths: [] };

type Handler<K extends LifeSignal['kind']> = (
  life: Lifecycle,
  signal: Extract<LifeSignal, { kind: K }>,
  policy: LifecyclePolicy,
) => LifeStep;
type PhaseRow = { readonly [K in LifeSignal['kind']]?: Handler<K> };

const startThread = (life: Lifecycle): LifeStep => ({
  next: { ...life, phase: 'starting' },
  effects: [{ kind: 'spawn' }],
});

const statusReported: Handler<'status'> = ({ restarts, deaths }, { state, detail }) => ({
  next: { phase: state, restarts, deaths, ...(detail === undefined ? {} : { detail }) },
  effects: [],
});

const threadEnded: Handler<'ended'> = (life, { how, at }, policy) => {
  const { verdict, waitMs, deaths } = afterDeath(life.deaths, at, policy.restarts);
  const rest =
    verdict === 'failed' ? `; ${deaths.length} deaths in ${policy.restarts.windowMs / 1000} s` : '';
  return {
    next: { phase: verdict, restarts: life.restarts + 1, deaths, detail: `thread ended: ${how}${rest}` },
    effects: [{ kind: 'set timer', ms: waitMs }],
  };
};

const askToStop: Handler<'stop'> = (life, _signal, policy) => ({
  next: { ...life, phase: 'stopping' },
  effects: [{ kind: 'ask to stop' }, { kind: 'set timer', ms: policy.stopWithinMs }],
});

const stopped = (life: Lifecycle): LifeStep => ({ next: { ...life, phase: 'stopped' }, effects: [] });
const tooLate = (life: Lifecycle): LifeStep => ({ next: life, effects: [{ kind: 'kill' }] });

const RUNNING: PhaseRow = { status: statusReported, ended: threadEnded, stop: askToStop };
const WAITING: PhaseRow = { due: startThread, stop: stopped };

/** Signals without an entry change nothing: a status in `stopping`, a second `start`, a second `stop`. */
const TABLE: { readonly [P in Phase]: PhaseRow } = {
  stopped: { start: startThread },
  starting: RUNNING,
  connecting: RUNNING,
  up: RUNNING,
  restarting: WAITING,
  failed: WAITING,
  stopping: { ended: stopped, due: tooLate },
};

export function nextLife<K extends LifeSignal['kind']>(
  life: Lifecycle,
  signal: Extract<LifeSignal, { kind: K }> & { readonly kind: K },
  policy: LifecyclePolicy,
): LifeStep {
  const handler: Handler<K> | undefined = TABLE[life.phase][signal.kind];
  return handler ? handler(life, signal, policy) : { next: life, effects: [] };
}

/** Times in ms. */
export interface RestartPolicy {
  /** The wait after the first, second, ... death within the window. One death more than there are waits is too many. */
  readonly waitsMs: readonly number[];
  /** Older deaths are ignored. */
  readonly windowMs: number;
  /** The pause of a child that died too often. */
  readonly restMs: number;
}

/** At once, then with back-off; the sixth death within 60 s is too many. No jitter: nothing else restarts at the same time. */
export const RESTARTS: RestartPolicy = {
  waitsMs: [0, 250, 500, 1000, 2000],
  windowMs: 60_000,
  restMs: 60_000,
};

export interface Restart {
  readonly verdict: 'restarting' | 'failed';
  /** From now to the next start. */
  readonly waitMs: number;
  /** The deaths within the window, oldest first; at most one more than there are waits. */
  readonly deaths: readonly number[];
}

/** `deaths` are the times of earlier deaths on the clock of `now`, oldest first, without this death. */
export function afterDeath(deaths: readonly number[], now: number, policy: RestartPolicy): Restart {
  const recent = [...deaths.filter((at) => now - at < policy.windowMs), now];
  const waitMs = policy.waitsMs[recent.length - 1];
  if (waitMs !== undefined) return { verdict: 'restarting', waitMs, deaths: recent };
  return { verdict: 'failed', waitMs: policy.restMs, deaths: recent.slice(-policy.waitsMs.length - 1) };
}

type StateOf = (life: Lifecycle) => BackendState | undefined;

/** A child that is being stopped keeps the state that it reported last. */
const STATES: { readonly [P in Phase]: StateOf } = {
  // After a death, a new thread is `restarting` until its first report.
  starting: ({ restarts }) => (restarts === 0 ? 'connecting' : 'restarting'),
  connecting: () => 'connecting',
  up: () => 'up',
  restarting: () => 'restarting',
  failed: () => 'failed',
  stopping: () => undefined,
  stopped: () => undefined,
};

/** The health after a step; the same object `before` if nothing in it has changed. `date` is ms since the epoch. */
export function healthAfter(
  before: BackendHealth | undefined,
  life: Lifecycle,
  date: number,
): BackendHealth | undefined {
  const state = STATES[life.phase](life);
  if (state === undefined) return before;
  const { restarts, detail } = life;
  if (before?.state === state && before.restarts === restarts && before.detail === detail) return before;
  const since = before?.state === state ? before.since : date;
  return { state, since, restarts, ...(detail === undefined ? {} : { detail }) };
}
