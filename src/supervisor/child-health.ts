// Decides which reports of one child's health reach the clients, and which reach the log.

import type { Clock } from '../host/clock.js';
import { capped } from '../printable.js';
import type { BackendHealth, ChildName } from '../protocol/actor/backends.js';
import type { ChildListener, Log, LogFields } from '../protocol/actor/messages.js';
import type { LogLevel } from '../protocol/actor/settings.js';

/** A child's health as `Child` reports it, without `since`, which `ChildHealth` adds. */
export type ReportedHealth = Omit<BackendHealth, 'since' | 'detail'> & {
  readonly detail: string | undefined;
};

/** A longer detail is cut. A detail can be long, because it may quote another program or a thread's error. */
const DETAIL_MAX_CHARACTERS = 4096;

const LEVEL_OF_STATE = { connecting: 'info', up: 'info', restarting: 'warn', failed: 'error' } as const;

export interface ChildHealthContext {
  readonly clock: Pick<Clock, 'date'>;
  readonly log: Log;
  readonly listener: Pick<ChildListener, 'health'>;
}

export class ChildHealth {
  readonly #child: ChildName;
  readonly #context: ChildHealthContext;
  #last: BackendHealth | undefined;

  constructor(child: ChildName, context: ChildHealthContext) {
    this.#child = child;
    this.#context = context;
  }

  /** The last report; undefined until the child is started. */
  get last(): BackendHealth | undefined {
    return this.#last;
  }

  /** How often the child's thread has died. A restart by a reload does not count. */
  get restarts(): number {
    return this.#last?.restarts ?? 0;
  }

  /** Does nothing if state, restarts and detail are all as before. `stack` is for the log only. */
  report(reported: ReportedHealth, stack?: string): void {
    const { state, restarts, detail: wholeDetail } = reported;
    const detail = wholeDetail === undefined ? undefined : capped(wholeDetail, DETAIL_MAX_CHARACTERS);
    const before = this.#last;
    const isSameState = before?.state === state;
    if (isSameState && before.restarts === restarts && before.detail === detail) return;
    const since = isSameState ? before.since : this.#context.clock.date();
    const detailIfAny = detail === undefined ? {} : { detail };
    this.#last = { state, since, restarts, ...detailIfAny };
    // A new detail of a child that stays `up` is not logged here, because its actor logs it.
    const mustLogNewDetail = state !== 'up' && detail !== undefined && detail !== before?.detail;
    if (!isSameState || mustLogNewDetail) {
      const fields = stack === undefined ? detailIfAny : { ...detailIfAny, stack };
      // Here a `connecting` child has a detail only if its peer is away, so the log has a warning then.
      // `healthWithReason` adds a detail for clients later if the child has not reported yet.
      const level = state === 'connecting' && detail !== undefined ? 'warn' : LEVEL_OF_STATE[state];
      this.log(level, `backend is ${state}`, fields);
    }
    this.#context.listener.health(this.#child, this.#last);
  }

  log(level: LogLevel, message: string, fields: LogFields = {}): void {
    this.#context.log(level, message, { backend: this.#child, ...fields });
  }
}
