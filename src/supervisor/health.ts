// What clients are told of a child's life (contract, section 7). Pure.

import type { BackendHealth, BackendState } from '../protocol/actor/backends.js';
import type { Lifecycle, Phase } from './lifecycle.js';

type Report = (life: Lifecycle) => BackendState | undefined;

/** A child that is being stopped reports nothing any more: its last word stands. */
const STATES: { readonly [P in Phase]: Report } = {
  // A new thread after a death has not proven itself before it speaks.
  starting: ({ restarts }) => (restarts === 0 ? 'connecting' : 'restarting'),
  connecting: () => 'connecting',
  up: () => 'up',
  restarting: () => 'restarting',
  failed: () => 'failed',
  stopping: () => undefined,
  stopped: () => undefined,
};

/** The health after a step; the very object `before` when nothing that is reported changed. `date` is ms since the epoch. */
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
