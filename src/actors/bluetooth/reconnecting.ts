// Connects known devices again, one at a time. reconnect-policy.ts decides which device is due. This file
// waits while pairing mode, a scan or a client's attempt to connect is under way.

import { type Clock, Timers } from '../../host/clock.js';
import type { Answer } from '../../protocol/actor/commands.js';
import type { Publisher } from '../runtime.js';
import type { BluetoothDevice } from './objects.js';
import { type AttemptProgress, ReconnectPolicy, type ReconnectWish } from './reconnect-policy.js';

interface ReconnectingParts {
  readonly wish: ReconnectWish;
  readonly clock: Clock;
  readonly publish: Pick<Publisher, 'log'>;
  /**
   * True while the adapter is on, and neither pairing mode nor a scan nor a client's attempt to connect is
   * under way.
   */
  readonly isAllowed: () => boolean;
  readonly connect: (device: string) => Promise<Answer>;
  /** Ends the attempt that is under way, unless a client has requested it, too. */
  readonly giveUp: (device: string) => void;
}

export class Reconnecting {
  readonly #parts: ReconnectingParts;
  readonly #policy: ReconnectPolicy;
  readonly #timers: Timers<'next'>;
  #attempt: { readonly path: string; isAborted: boolean } | undefined;

  constructor(parts: ReconnectingParts) {
    this.#parts = parts;
    this.#policy = new ReconnectPolicy(parts.wish, parts.clock);
    this.#timers = new Timers(parts.clock);
  }

  /** To be called when the adapter has come or was switched on. `devices` are all devices of the adapter. */
  begin(devices: readonly BluetoothDevice[]): void {
    this.#policy.begin(devices);
  }

  /** To be called when the adapter is gone or off, and at the end of the daemon. */
  end(): void {
    this.#policy.end();
    this.#timers.cancelAll();
  }

  deviceChanged(path: string, before: BluetoothDevice | undefined, after: BluetoothDevice | undefined): void {
    this.#policy.deviceChanged(path, before, after);
  }

  /** To be called with BlueZ's reason for the end of a connection. */
  disconnected(path: string, reason: string): void {
    this.#policy.disconnected(path, reason);
  }

  /** To be called when a sound server begins or ceases to serve the adapter's sound. */
  soundServed(isServed: boolean, devices: readonly BluetoothDevice[]): void {
    this.#policy.soundServed(isServed, devices);
  }

  /** To be called when an attempt of the daemon or of a client begins or ends. */
  attemptProgressed(path: string, progress: AttemptProgress): void {
    this.#policy.attemptProgressed(path, progress);
  }

  /** To be called when a client has disconnected the device. */
  leaveDisconnected(path: string): void {
    this.#policy.leaveDisconnected(path);
    // The timer may be set for an attempt to connect this device.
    this.recheck();
  }

  /** To be called when an attempt may have become due, or when `isAllowed` may have changed. */
  recheck(): void {
    this.#timers.cancelAll();
    const attempt = this.#attempt;
    const isAllowed = this.#parts.isAllowed();
    if (attempt === undefined) {
      if (isAllowed) this.#scheduleNext();
      return;
    }
    if (isAllowed || attempt.isAborted) return;
    attempt.isAborted = true;
    this.#parts.giveUp(attempt.path);
  }

  #scheduleNext(): void {
    const next = this.#policy.nextAttempt();
    if (next === undefined) return;
    const waitMs = Math.max(0, next.dueAt - this.#parts.clock.monotonic());
    this.#timers.set('next', waitMs, () => void this.#connect(next.path));
  }

  async #connect(path: string): Promise<void> {
    const { connect, publish } = this.#parts;
    const attempt = { path, isAborted: false };
    this.#attempt = attempt;
    const answer = await connect(path);
    this.#attempt = undefined;
    // `attemptProgressed` has passed the outcome to the policy already. The policy needs a second call only
    // after a failure. An aborted attempt does not count as a failure.
    if (answer.ok) publish.log('info', 'a known device is connected again', { device: path });
    else if (!attempt.isAborted) this.#attemptFailed(path, answer.error.detail);
    this.recheck();
  }

  /** Logs only the first failure since the last proven connection (reconnect-policy.ts). */
  #attemptFailed(path: string, reason: string): void {
    const failures = this.#policy.attemptFailed(path);
    if (failures !== 1) return;
    const fields = { device: path, reason };
    this.#parts.publish.log('info', 'a known device does not answer, and is tried again', fields);
  }
}
