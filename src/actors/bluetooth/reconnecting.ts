// Connects known devices again, one at a time, when the policy allows it, and never while pairing mode, a
// scan or a client's own connection is under way.

import { type Clock, Timers } from '../../host/clock.js';
import type { Answer } from '../../protocol/actor/commands.js';
import type { Publisher } from '../runtime.js';
import type { Device } from './objects.js';
import { ReconnectPolicy, type ReconnectWish } from './reconnect-policy.js';

interface ReconnectingParts {
  readonly wish: ReconnectWish;
  readonly clock: Clock;
  readonly publish: Pick<Publisher, 'log'>;
  /** True while the adapter is on and does nothing else. */
  readonly isAllowed: () => boolean;
  readonly connect: (device: string) => Promise<Answer>;
  /** Ends the connection that is under way. */
  readonly giveUp: (device: string) => void;
}

export class Reconnecting {
  readonly #parts: ReconnectingParts;
  readonly #policy: ReconnectPolicy;
  readonly #timers: Timers<'due'>;
  #underWay: { readonly path: string; isAborted: boolean } | undefined;

  constructor(parts: ReconnectingParts) {
    this.#parts = parts;
    this.#policy = new ReconnectPolicy(parts.wish, parts.clock);
    this.#timers = new Timers(parts.clock);
  }

  /** To be called when the adapter has come or was switched on, with all its devices. */
  begin(devices: readonly Device[]): void {
    this.#policy.begin(devices);
  }

  /** To be called when the adapter is gone or off, and at the end of the daemon. */
  end(): void {
    this.#policy.end();
    this.#timers.cancelAll();
  }

  deviceChanged(path: string, before: Device | undefined, after: Device | undefined): void {
    this.#policy.deviceChanged(path, before, after);
  }

  /** BlueZ gives this reason for the end of a connection. */
  disconnected(path: string, reason: string): void {
    this.#policy.disconnected(path, reason);
  }

  /** To be called when a client has disconnected the device. */
  left(path: string): void {
    this.#policy.left(path);
    this.watch();
  }

  /** To be called when something may have become due, allowed, or not allowed. */
  watch(): void {
    const { clock, isAllowed, giveUp } = this.#parts;
    const next = this.#policy.next();
    if (next === undefined || this.#underWay !== undefined || !isAllowed()) this.#timers.cancelAll();
    else
      this.#timers.set('due', Math.max(0, next.dueAt - clock.monotonic()), () => void this.#try(next.path));
    if (this.#underWay === undefined || this.#underWay.isAborted || isAllowed()) return;
    this.#underWay.isAborted = true;
    giveUp(this.#underWay.path);
  }

  async #try(path: string): Promise<void> {
    const { connect, publish } = this.#parts;
    const attempt = { path, isAborted: false };
    this.#underWay = attempt;
    const answer = await connect(path);
    this.#underWay = undefined;
    if (answer.ok) {
      this.#policy.succeeded(path);
      publish.log('info', 'a known device is connected again', { device: path });
    } else if (!attempt.isAborted && this.#policy.failed(path) === 1)
      publish.log('info', 'a known device does not answer, and is tried again', {
        device: path,
        reason: answer.error.detail,
      });
    this.watch();
  }
}
