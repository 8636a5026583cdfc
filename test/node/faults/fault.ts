// Defines a row of the table of faults, and the steps that rows are made of.

import type { ChildName as Child } from '../../../src/protocol/actor/backends.js';
import type { BackendHealth } from '../../contract/daemon.js';
import type { SeededRandom } from '../../seeded-random.js';
import { until } from '../../until.js';
import type { FaultedNode } from './faulted-node.js';
import type { Load } from './load.js';

export interface FaultContext {
  readonly faultedNode: FaultedNode;
  readonly load: Load;
  readonly random: SeededRandom;
}

export type Step = (context: FaultContext) => Promise<unknown>;

export interface Fault {
  readonly name: string;
  /** The part that has the fault. `npm test` takes one fault of each part, chosen by the seed. */
  readonly part: string;
  /** Causes the fault. Resolves when it has taken effect, or when it is over if there is no `undo`. */
  readonly do: Step;
  readonly undo?: Step;
  /**
   * The children that may go away because of the fault. No other child may. `all` means that the daemon's
   * process itself ends.
   */
  readonly mayGo: readonly Child[] | 'all';
  /** The children whose threads die because of the fault. No other thread may die. */
  readonly threads?: readonly Child[];
  /** Everything must be up again within this time after `undo`, by default within 30 s. */
  readonly upWithinMs?: number | undefined;
  /** True if requests may hang, because for some time nobody can answer. */
  readonly requestsMayHang?: boolean;
  /** True if the fault must not last at the same time as another one. */
  readonly isAlone?: boolean;
  /** True if the fault takes more than some seconds. `npm test` leaves out such a fault. */
  readonly isSlow?: boolean;
}

export type Scope = 'system' | 'user';

/**
 * The audio backend notices a silent sound server within this time, because it reads everything every 60 s,
 * and each reading has a deadline. The bridge to MQTT notices a silent broker earlier (services.ts).
 */
const NOTICED_WITHIN_MS = 90_000;
const TWO_ROUNDS_WITHIN_MS = 60_000;
/**
 * In a pair, the first fault lasts longer than it would alone, because the second fault lasts meanwhile. The
 * longer a part is away, the less often the daemon tries to connect to it. So a pair needs more time.
 */
const PAIR_UP_WITHIN_MS = 60_000;

/**
 * Resolves after the next two ends of rounds. The round that ends first may have begun before the fault. The
 * second one has begun after it.
 */
export async function untilTwoRounds({ load }: FaultContext): Promise<void> {
  const roundsAtEnd = load.rounds + 2;
  await until('two rounds of load have ended', () => load.rounds >= roundsAtEnd, TWO_ROUNDS_WITHIN_MS);
}

/**
 * Resolves with the health of a child. The request does not belong to the load, because series.ts checks
 * every answer that the load gets.
 */
export async function healthOf({ faultedNode }: FaultContext, child: Child): Promise<BackendHealth> {
  const text = await faultedNode.node.shell('curl --silent --max-time 5 http://127.0.0.1:8018/health');
  return JSON.parse(text).backends[child];
}

/** Waits until the child has noticed the fault. */
export const untilNoticed =
  (child: Child): Step =>
  (context) => {
    const isAway = async (): Promise<boolean> => (await healthOf(context, child)).state !== 'up';
    return until(`${child} has noticed the fault`, isAway, NOTICED_WITHIN_MS);
  };

/** Does the steps one after the other. */
export const inTurn =
  (...steps: readonly (Step | undefined)[]): Step =>
  async (context) => {
    for (const step of steps) await step?.(context);
  };

/** Runs a shell script as root. */
export const sh =
  (script: string): Step =>
  ({ faultedNode }) =>
    faultedNode.node.shell(script);

/** Runs systemctl for the manager of this scope. `Node.systemctl` is only for pi's manager. */
export const systemctl =
  (scope: Scope, ...args: readonly string[]): Step =>
  ({ faultedNode }) =>
    scope === 'user'
      ? faultedNode.node.systemctl(...args)
      : faultedNode.node.shell(`systemctl ${args.join(' ')}`);

export const sendSignal =
  (name: string, scope: Scope, unit: string): Step =>
  ({ faultedNode }) =>
    faultedNode.signal(name, scope, unit);

/** Kills the main process of a unit. Resolves when the unit has another main process, or none. */
export const kill =
  (scope: Scope, unit: string): Step =>
  async ({ faultedNode }) => {
    const pid = await faultedNode.signal('KILL', scope, unit);
    await until(
      `${unit} has another process, or none`,
      async () => (await faultedNode.pidOf(scope, unit)) !== pid,
    );
  };

/** Joins two faults into one. The second fault is caused after the first one, and undone before it. */
export function together(first: Fault, second: Fault): Fault {
  const mayGo = first.mayGo === 'all' || second.mayGo === 'all' ? 'all' : [...first.mayGo, ...second.mayGo];
  return {
    name: `${first.name}, and ${second.name}`,
    part: first.part,
    do: inTurn(first.do, second.do),
    undo: inTurn(second.undo, first.undo),
    mayGo,
    threads: [...(first.threads ?? []), ...(second.threads ?? [])],
    upWithinMs: Math.max(first.upWithinMs ?? 0, second.upWithinMs ?? 0, PAIR_UP_WITHIN_MS),
    requestsMayHang: first.requestsMayHang === true || second.requestsMayHang === true,
  };
}
