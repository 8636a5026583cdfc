// Decides which known devices are to be connected again, and when (docs/bluetooth.md, "Coming back by
// itself"). It connects no device and sets no timer.

import type { Clock } from '../../host/clock.js';
import { INTENDED_REASONS, isPlayingService, isSoundService } from '../../protocol/dbus/bluez.js';
import type { BluetoothDevice } from './objects.js';

const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** A connection that has lasted this long is steady: after its loss, the pauses begin with the shortest. */
const STEADY_MS = 60_000;

/** BlueZ's `Icon` of these devices. They are no loudspeakers, although they may play the sound of others. */
const PHONES_AND_COMPUTERS: readonly string[] = ['phone', 'computer'];

/** `true` means all known loudspeakers and headphones; a list means the devices with these addresses. */
export type ReconnectWish = boolean | readonly string[];

/** The attempts to bring one device back. Times are monotonic, in ms. */
interface Attempts {
  /** The number of pauses since the last steady connection, or since `begin`. */
  pauses: number;
  /** The number of attempts that have failed since the last proven connection, or since `begin`. */
  failures: number;
  /** When the next attempt is due; undefined if none is planned, for instance for a connected device. */
  dueAt: number | undefined;
  connectedAt: number | undefined;
  /** True if somebody has disconnected the device on purpose, even if BlueZ still has it as connected. */
  isLeftDisconnected: boolean;
}

/** How far an attempt to connect a device has come, the daemon's own one or a client's. */
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
   * The devices with an unproven link, by path: an attempt is under way, or has failed and the device was not
   * connected since. BlueZ may make the link and end it again before the attempt fails, or after. It then
   * gives the same reason as for a connection that somebody has ended.
   */
  readonly #unproven = new Map<string, 'under way' | 'failed'>();
  #isSoundServed = true;
  /**
   * The devices whose link BlueZ may end because the sound server has gone, by path: until which monotonic
   * time. BlueZ then gives the same reason as for a connection that somebody has ended.
   */
  readonly #soundlessUntil = new Map<string, number>();

  constructor(wish: ReconnectWish, clock: Pick<Clock, 'monotonic'>) {
    this.#wish = wish;
    this.#clock = clock;
  }

  /** To be called when the adapter has come or was switched on, with all its devices. */
  begin(devices: readonly BluetoothDevice[]): void {
    this.#attempts.clear();
    for (const device of devices)
      if (this.#shouldReturn(device) && device.Connected !== true) this.#dueNow(device.path);
  }

  /** To be called when the adapter is gone or off. */
  end(): void {
    this.#attempts.clear();
    this.#unproven.clear();
    this.#soundlessUntil.clear();
  }

  deviceChanged(path: string, before: BluetoothDevice | undefined, after: BluetoothDevice | undefined): void {
    const wasConnected = before?.Connected === true;
    const isConnected = after?.Connected === true;
    const isFirstSinceFailure = isConnected && !wasConnected && this.#unproven.get(path) === 'failed';
    if (after === undefined || isFirstSinceFailure) this.#unproven.delete(path);
    if (after === undefined || (isConnected && !wasConnected)) this.#soundlessUntil.delete(path);
    if (isConnected && !wasConnected && !this.#isSoundServed) this.#loseSound(after);
    if (after === undefined || !this.#shouldReturn(after)) {
      this.#attempts.delete(path);
      return;
    }
    // BlueZ announces an adapter before the devices that it has loaded, so `begin` has not got them.
    if (before === undefined && !isConnected) this.#dueNow(path);
    if (isConnected && !wasConnected) this.#connected(path);
    if (wasConnected && !isConnected) this.#lost(path);
  }

  /** To be called with BlueZ's reason for a disconnection, before or after `deviceChanged`. */
  disconnected(path: string, reason: string): void {
    const soundlessUntil = this.#soundlessUntil.get(path) ?? Number.NEGATIVE_INFINITY;
    const isNobodysWish = this.#unproven.has(path) || this.#clock.monotonic() < soundlessUntil;
    if (INTENDED_REASONS.includes(reason) && !isNobodysWish) this.leaveDisconnected(path);
  }

  /**
   * To be called when a sound server begins or ceases to serve the adapter's sound, with all devices. A link
   * that has outlived this by `STEADY_MS` no longer ends because of it: no sound server may ever come.
   */
  soundServed(isServed: boolean, devices: readonly BluetoothDevice[]): void {
    this.#isSoundServed = isServed;
    if (isServed) {
      const until = this.#clock.monotonic() + STEADY_MS;
      for (const path of this.#soundlessUntil.keys()) this.#soundlessUntil.set(path, until);
      return;
    }
    for (const device of devices) if (device.Connected === true) this.#loseSound(device);
  }

  /** To be called for each attempt, the daemon's own one or a client's. */
  attemptProgressed(path: string, progress: AttemptProgress): void {
    if (progress === 'begun') this.#unproven.set(path, 'under way');
    else if (progress === 'succeeded') this.#attemptSucceeded(path);
    // After `end` an attempt may still fail.
    else if (this.#unproven.has(path)) this.#unproven.set(path, 'failed');
  }

  /** To be called when somebody has disconnected the device. It stays so until somebody connects it. */
  leaveDisconnected(path: string): void {
    this.#attempts.set(path, { ...this.#attemptsFor(path), dueAt: undefined, isLeftDisconnected: true });
  }

  /**
   * To be called when an attempt of the daemon has failed. Returns how many have failed since the last
   * proven connection; 0 if the device is no longer to be connected.
   */
  attemptFailed(path: string): number {
    const attempts = this.#attempts.get(path);
    if (attempts === undefined || attempts.isLeftDisconnected) return 0;
    attempts.failures += 1;
    // If the link was up during the attempt, its end has planned the next attempt, or will do so.
    const { dueAt = Number.POSITIVE_INFINITY } = attempts;
    if (dueAt <= this.#clock.monotonic()) this.#scheduleAfterPause(attempts);
    return attempts.failures;
  }

  /** The device whose attempt is due next; undefined if there is none. */
  nextAttempt(): DueAttempt | undefined {
    let next: DueAttempt | undefined;
    for (const [path, { dueAt }] of this.#attempts)
      if (dueAt !== undefined && dueAt < (next?.dueAt ?? Number.POSITIVE_INFINITY)) next = { path, dueAt };
    return next;
  }

  #dueNow(path: string): void {
    this.#attempts.set(path, { ...NO_ATTEMPTS, dueAt: this.#clock.monotonic() });
  }

  #connected(path: string): void {
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

  #lost(path: string): void {
    const attempts = this.#attemptsFor(path);
    if (attempts.isLeftDisconnected) return;
    // `connectedAt` is undefined if the device was connected before the last `begin`, or while
    // `#shouldReturn` was false for the device, as during its pairing. Such a connection counts as steady.
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

  #loseSound({ path, UUIDs = [] }: BluetoothDevice): void {
    if (UUIDs.some(isSoundService)) this.#soundlessUntil.set(path, this.#clock.monotonic() + STEADY_MS);
  }

  #attemptsFor(path: string): Attempts {
    return this.#attempts.get(path) ?? { ...NO_ATTEMPTS };
  }

  #shouldReturn({ Paired, Address = '', UUIDs = [], Icon = '' }: BluetoothDevice): boolean {
    if (Paired !== true) return false;
    if (typeof this.#wish !== 'boolean') return this.#wish.includes(Address);
    return this.#wish && UUIDs.some(isPlayingService) && !PHONES_AND_COMPUTERS.includes(Icon);
  }
}
