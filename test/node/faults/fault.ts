// The rows of the table of faults: their type, and the parts to make them of.

import type { ChildName as Child } from '../../../src/protocol/actor/backends.js';
import type { BackendHealth } from '../../contract/daemon.js';
import type { SeededRandom } from '../../seeded-random.js';
import { until } from '../../until.js';
import type { FaultedNode } from './faulted-node.js';
import type { Load } from './load.js';

export interface FaultContext {
  readonly on: FaultedNode;
  readonly load: Load;
  readonly random: SeededRandom;
}

export type Step = (context: FaultContext) => Promise<unknown>;

export interface Fault {
  readonly name: string;
  /** The part that has the fault. `npm test` takes one fault of each part, chosen by the seed. */
  readonly part: string;
  /** Resolves when it has taken effect, and, where nothing is to be undone, when it is over. */
  readonly do: Step;
  readonly undo?: Step;
  /** Which may go away for it; `all`: the daemon's process itself ends. Nobody else may. */
  readonly mayGo: readonly Child[] | 'all';
  /** Children whose threads die, once each. */
  readonly threads?: readonly Child[];
  /** Until all is up again, after the undoing; default 30 s. */
  readonly upWithinMs?: number | undefined;
  /** For some time nobody can answer: requests may be late. */
  readonly silent?: boolean;
  /** Never at once with another. */
  readonly alone?: boolean;
  /** Takes more than some seconds: not in `npm test`. */
  readonly slow?: boolean;
}

export type Scope = 'system' | 'user';

/**
 * Until a backend notices a peer that is silent: its next reading of all is within 60 s, and has a deadline.
 */
const NOTICED_WITHIN_MS = 90_000;
const ROUND_WITHIN_MS = 60_000;

/** Whatever was under way when the fault began has ended, and something has begun and ended since. */
export async function rounds({ load }: FaultContext): Promise<void> {
  const end = load.rounds + 2;
  await until('two rounds of load', () => load.rounds >= end, ROUND_WITHIN_MS);
}

/** Asked on the node: what the load asks of it is judged. */
export async function healthOf({ on }: FaultContext, child: Child): Promise<BackendHealth> {
  const text = await on.node.shell('curl --silent --max-time 5 http://127.0.0.1:8018/health');
  return JSON.parse(text).backends[child];
}

export const noticed =
  (child: Child): Step =>
  (context) => {
    const isAway = async (): Promise<boolean> => (await healthOf(context, child)).state !== 'up';
    return until(`${child} has noticed`, isAway, NOTICED_WITHIN_MS);
  };

/** One after the other. */
export const inTurn =
  (...steps: readonly (Step | undefined)[]): Step =>
  async (context) => {
    for (const step of steps) await step?.(context);
  };

export const sh =
  (script: string): Step =>
  ({ on }) =>
    on.node.shell(script);

export const systemctl =
  (scope: Scope, ...args: readonly string[]): Step =>
  ({ on }) =>
    scope === 'user' ? on.node.systemctl(...args) : on.node.shell(`systemctl ${args.join(' ')}`);

export const signalled =
  (name: string, scope: Scope, unit: string): Step =>
  ({ on }) =>
    on.signal(name, scope, unit);

/** Resolves when there is another, or none. */
export const killed =
  (scope: Scope, unit: string): Step =>
  async ({ on }) => {
    const pid = await on.signal('KILL', scope, unit);
    await until(`${unit} is another`, async () => (await on.pidOf(scope, unit)) !== pid);
  };

/** Two at once, of which the one that came last goes first. */
export function together(one: Fault, other: Fault): Fault {
  const mayGo = one.mayGo === 'all' || other.mayGo === 'all' ? 'all' : [...one.mayGo, ...other.mayGo];
  return {
    name: `${one.name}, and ${other.name}`,
    part: one.part,
    do: inTurn(one.do, other.do),
    undo: inTurn(other.undo, one.undo),
    mayGo,
    threads: [...(one.threads ?? []), ...(other.threads ?? [])],
    upWithinMs: Math.max(one.upWithinMs ?? 0, other.upWithinMs ?? 0, PAIR_UP_WITHIN_MS),
    silent: one.silent === true || other.silent === true,
  };
}

/** The longer a part is away, the less often it is tried. */
const PAIR_UP_WITHIN_MS = 60_000;
