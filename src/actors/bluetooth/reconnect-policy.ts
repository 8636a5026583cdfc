// Decides which known devices are to be connected again, and when (docs/bluetooth.md, "Coming back by
// itself"). reconnecting.ts sets the timers, and connects the devices.

import type { Clock } from '../../host/clock.js';
import { INTENDED_REASONS, isPlayingService, isSoundService } from '../../protocol/dbus/bluez.js';
import type { BluetoothDevice } from './objects.js';

const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/**
 * A connection that has lasted this long is steady: after its loss, the pauses begin with the shortest. The
 * time after a change of the sound server (`soundServed`) is equally long.
 */
const STEADY_MS = 60_000;

/** A device with one of these values of `Icon` is no loudspeaker, even if it offers to play sound. */
const PHONES_AND_COMPUTERS: readonly string[] = ['phone', 'computer'];

/**
 * `true` means all paired loudspeakers and headphones, `false` means no device, and a list means the paired
 * devices with these addresses.
 */
export type ReconnectWish = boolean | readonly string[];

/** The attempts to bring one device back. Times are monotonic, in ms. */
interface Attempts {
  /** The number of pauses since the last steady connection, or since `begin`. */
  pauses: number;
  /** The number of failed attempts since the last proven connection (see `#unproven`), or since `begin`. */
  failures: number;
  /** When the next attempt is due; undefined if none is planned, for instance for a connected device. */
  dueAt: number | undefined;
  /** When the last connection began; undefined if this is not known (see `#connectionEnded`). */
  connectedAt: number | undefined;
  /**
   * True after somebody has disconnected the device on purpose, until the next connection or `begin`. The
   * value may become true before BlueZ reports the end of the connection, so `#connectionEnded` checks it.
   */
  isLeftDisconnected: boolean;
}

/** How far an attempt to connect a device has come. The attempt may be the daemon's own or a client's. */
export type AttemptProgress = 'begun' | 'succeeded' | 'failed';

interface DueAttempt {
  readonly path: string;
  readonly dueAt: number;
}

const NO_ATTEMPTS: Attempts = {
  pauses: 0,
  failures: 0,
  dueAt: undefined,
  connectedAt: undefined,
  isLeftDisconnected: false,
};

export class ReconnectPolicy {
  readonly #wish: ReconnectWish;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By the device's path. */
  readonly #attempts = new Map<string, Attempts>();
  /**
   * The devices, by path, whose connection is not proven: it may belong to an attempt that fails. BlueZ may
   * end such a connection before or after the failure, and gives the same reason as if somebody had
   * disconnected the device. `under way`: the attempt has no outcome yet. `failed`: the attempt has failed,
   * and no new connection has begun since then.
   */
  readonly #unproven = new Map<string, 'under way' | 'failed'>();
  #isSoundServed = true;
  /**
   * Until the monotonic time in this map, BlueZ may end the connection of the device with this path by
   * itself, because the sound server has gone or come back, or was away when the connection began. BlueZ then
   * gives the same reason as if somebody had disconnected the device.
   */
  readonly #soundlessUntilMs = new Map<string, number>();

  constructor(wish: ReconnectWish, clock: Pick<Clock, 'monotonic'>) {
    this.#wish = wish;
    this.#clock = clock;
  }

  /** To be called when the adapter has come or was switched on. `devices` are all devices of the adapter. */
  begin(devices: readonly BluetoothDevice[]): void {
    this.#attempts.clear();
    for (const device of devices)
      if (this.#shouldComeBack(device) && device.Connected !== true) this.#scheduleNow(device.path);
  }

  /** To be called when the adapter is gone or off. */
  end(): void {
    this.#attempts.clear();
    this.#unproven.clear();
    this.#soundlessUntilMs.clear();
  }

  deviceChanged(path: string, before: BluetoothDevice | undefined, after: BluetoothDevice | undefined): void {
    const wasConnected = before?.Connected === true;
    const isConnected = after?.Connected === true;
    const hasConnected = isConnected && !wasConnected;
    // In the state `failed` no attempt is under way, so a connection that begins now is proven at once. A
    // connection that begins in the state `under way` is proven only when the attempt succeeds.
    const isFirstConnectionSinceFailure = hasConnected && this.#unproven.get(path) === 'failed';
    if (after === undefined || isFirstConnectionSinceFailure) this.#unproven.delete(path);
    if (after === undefined || hasConnected) this.#soundlessUntilMs.delete(path);
    if (hasConnected && !this.#isSoundServed) this.#markSoundless(after);
    if (after === undefined || !this.#shouldComeBack(after)) {
      this.#attempts.delete(path);
      return;
    }
    // BlueZ announces an adapter before the adapter's known devices, so `begin` did not get these devices.
    if (before === undefined && !isConnected) this.#scheduleNow(path);
    if (hasConnected) this.#connectionBegan(path);
    if (wasConnected && !isConnected) this.#connectionEnded(path);
  }

  /** To be called with BlueZ's reason for a disconnection, before or after `deviceChanged`. */
  disconnected(path: string, reason: string): void {
    const soundlessEndMs = this.#soundlessUntilMs.get(path) ?? Number.NEGATIVE_INFINITY;
    const mayBeUnintended = this.#unproven.has(path) || this.#clock.monotonic() < soundlessEndMs;
    if (INTENDED_REASONS.includes(reason) && !mayBeUnintended) this.leaveDisconnected(path);
  }

  /**
   * To be called when a sound server begins or ceases to serve the adapter's sound. `devices` are all devices
   * of the adapter. If a connection ends within `STEADY_MS` after this call, the sound server may be the
   * cause, so the disconnection does not count as intended. Afterwards a disconnection may count as intended
   * again, even if the sound server stays away.
   */
  soundServed(isServed: boolean, devices: readonly BluetoothDevice[]): void {
    this.#isSoundServed = isServed;
    if (isServed) {
      // BlueZ may end the connections of the devices in `#soundlessUntilMs` even after the sound server has
      // come back, so the time of these devices begins anew.
      const endMs = this.#clock.monotonic() + STEADY_MS;
      for (const path of this.#soundlessUntilMs.keys()) this.#soundlessUntilMs.set(path, endMs);
      return;
    }
    for (const device of devices) if (device.Connected === true) this.#markSoundless(device);
  }

  /** To be called when an attempt of the daemon or of a client begins or ends. */
  attemptProgressed(path: string, progress: AttemptProgress): void {
    if (progress === 'begun') this.#unproven.set(path, 'under way');
    else if (progress === 'succeeded') this.#attemptSucceeded(path);
    // An attempt that fails after `end` is ignored.
    else if (this.#unproven.has(path)) this.#unproven.set(path, 'failed');
  }

  /** To be called when somebody has disconnected the device. The daemon then leaves it disconnected. */
  leaveDisconnected(path: string): void {
    this.#attempts.set(path, { ...this.#attemptsFor(path), dueAt: undefined, isLeftDisconnected: true });
  }

  /**
   * To be called when an attempt of the daemon has failed. Returns the number of failed attempts since the
   * last proven connection; 0 if the daemon no longer tries to connect the device.
   */
  attemptFailed(path: string): number {
    const attempts = this.#attempts.get(path);
    if (attempts === undefined || attempts.isLeftDisconnected) return 0;
    attempts.failures += 1;
    // If a connection began during the attempt, `#connectionBegan` has cleared `dueAt`, and
    // `#connectionEnded` plans the next attempt. If not, `dueAt` is still the time of this attempt.
    const { dueAt } = attempts;
    const isStillDue = dueAt !== undefined && dueAt <= this.#clock.monotonic();
    if (isStillDue) this.#scheduleAfterPause(attempts);
    return attempts.failures;
  }

  /** The attempt that is due next; undefined if none is planned. */
  nextAttempt(): DueAttempt | undefined {
    let next: DueAttempt | undefined;
    for (const [path, { dueAt }] of this.#attempts)
      if (dueAt !== undefined && dueAt < (next?.dueAt ?? Number.POSITIVE_INFINITY)) next = { path, dueAt };
    return next;
  }

  #scheduleNow(path: string): void {
    this.#attempts.set(path, { ...NO_ATTEMPTS, dueAt: this.#clock.monotonic() });
  }

  #connectionBegan(path: string): void {
    // An unproven connection may belong to an attempt that fails, so it does not set the failures to 0.
    const { pauses, failures: failuresBefore } = this.#attemptsFor(path);
    const failures = this.#unproven.has(path) ? failuresBefore : 0;
    this.#attempts.set(path, { ...NO_ATTEMPTS, pauses, failures, connectedAt: this.#clock.monotonic() });
  }

  #attemptSucceeded(path: string): void {
    this.#unproven.delete(path);
    const attempts = this.#attempts.get(path);
    if (attempts === undefined) return;
    attempts.dueAt = undefined;
    attempts.failures = 0;
  }

  #connectionEnded(path: string): void {
    const attempts = this.#attemptsFor(path);
    if (attempts.isLeftDisconnected) return;
    // `connectedAt` is undefined in two cases: the connection began before the last `begin`, or it began
    // while `#shouldComeBack` was false for the device, as during its pairing. Such a connection counts as
    // steady.
    const { connectedAt = Number.NEGATIVE_INFINITY } = attempts;
    const wasSteady = this.#clock.monotonic() - connectedAt >= STEADY_MS;
    if (wasSteady) attempts.pauses = 0;
    this.#scheduleAfterPause(attempts);
    this.#attempts.set(path, attempts);
  }

  #scheduleAfterPause(attempts: Attempts): void {
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** attempts.pauses, LONGEST_PAUSE_MS);
    attempts.pauses += 1;
    attempts.dueAt = this.#clock.monotonic() + pauseMs;
  }

  #markSoundless({ path, UUIDs = [] }: BluetoothDevice): void {
    if (UUIDs.some(isSoundService)) this.#soundlessUntilMs.set(path, this.#clock.monotonic() + STEADY_MS);
  }

  #attemptsFor(path: string): Attempts {
    return this.#attempts.get(path) ?? { ...NO_ATTEMPTS };
  }

  #shouldComeBack({ Paired, Address = '', UUIDs = [], Icon = '' }: BluetoothDevice): boolean {
    if (Paired !== true) return false;
    if (typeof this.#wish !== 'boolean') return this.#wish.includes(Address);
    return this.#wish && UUIDs.some(isPlayingService) && !PHONES_AND_COMPUTERS.includes(Icon);
  }
}
