// Everything that can happen to the supervisor, as one closed union: its loop takes nothing else. Types only.

import type { Backend } from '../protocol/actor/backends.js';
import type { Command } from '../protocol/actor/commands.js';
import type { FromActor } from '../protocol/actor/messages.js';
import type { Settle } from './asks.js';
import type { Death } from './death.js';

export interface StopReport {
  /** Those that did not stop within their deadline and were killed, in the order of stopping. */
  readonly late: readonly Backend[];
}

export type Input =
  | { readonly kind: 'start' }
  /** The child before has spoken, has ended, or takes long: the next one may start. */
  | { readonly kind: 'next'; readonly after: Backend }
  /** `incarnation` counts a child's threads: what a dead one said is discarded. */
  | {
      readonly kind: 'batch';
      readonly backend: Backend;
      readonly incarnation: number;
      readonly items: FromActor;
    }
  | {
      readonly kind: 'ended';
      readonly backend: Backend;
      readonly incarnation: number;
      readonly death: Death;
    }
  /** A child's one timer: the wait before a restart, or the deadline of its stop. */
  | { readonly kind: 'due'; readonly backend: Backend }
  | {
      readonly kind: 'ask';
      readonly backend: Backend;
      readonly command: Command;
      readonly settle: Settle;
    }
  | { readonly kind: 'ask due'; readonly backend: Backend; readonly id: number }
  /** Time to ping. */
  | { readonly kind: 'beat' }
  /** The pongs should all be here. */
  | { readonly kind: 'pong due' }
  | { readonly kind: 'stop'; readonly report: (report: StopReport) => void };
