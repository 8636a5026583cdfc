// Decides which known devices are to be connected again, and when (docs/bluetooth.md, "Coming back by
// itself"). It connects no device and sets no timer.

import type { Clock } from '../../host/clock.js';
import { INTENDED_REASONS, isPlayingService, LOCAL_REASON } from '../../protocol/dbus/bluez.js';
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
  /** The number of attempts that have failed since the last connection, or since `begin`. */
  failures: number;
  /** When the next attempt is due; undefined if none is planned, for instance for a connected device. */
  dueAt: number | undefined;
  connectedAt: number | undefined;
  /** True if somebody has disconnected the device on purpose, even if BlueZ still has it as connected. */
  isLeftDisconnected: boolean;
  /** True if the daemon has abandoned an attempt since the device was last connected. */
  isAbandoned: boolean;
}

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
  isAbandoned: false,
};

export class ReconnectPolicy {
  readonly #wish: ReconnectWish;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By the device's path. */
  readonly #attempts = new Map<string, Attempts>();

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
  }

  deviceChanged(path: string, before: BluetoothDevice | undefined, after: BluetoothDevice | undefined): void {
    if (after === undefined || !this.#shouldReturn(after)) {
      this.#attempts.delete(path);
      return;
    }
    const wasConnected = before?.Connected === true;
    const isConnected = after.Connected === true;
    // BlueZ announces an adapter before the devices that it has loaded, so `begin` has not got them.
    if (before === undefined && !isConnected) this.#dueNow(path);
    if (isConnected && !wasConnected) this.#connected(path);
    if (wasConnected && !isConnected) this.#lost(path);
  }

  /** To be called with BlueZ's reason for a disconnection, before or after `deviceChanged`. */
  disconnected(path: string, reason: string): void {
    const isByDaemon = reason === LOCAL_REASON && this.#attempts.get(path)?.isAbandoned === true;
    if (INTENDED_REASONS.includes(reason) && !isByDaemon) this.leaveDisconnected(path);
  }

  /**
   * To be called when the daemon disconnects the device to end an attempt. If the link was up already, BlueZ
   * gives the same reason as for a disconnection that somebody has wished.
   */
  attemptAbandoned(path: string): void {
    this.#attempts.set(path, { ...this.#attemptsFor(path), isAbandoned: true });
  }

  /** To be called when somebody has disconnected the device. It stays so until somebody connects it. */
  leaveDisconnected(path: string): void {
    this.#attempts.set(path, { ...this.#attemptsFor(path), dueAt: undefined, isLeftDisconnected: true });
  }

  /** To be called when an attempt has succeeded. */
  attemptSucceeded(path: string): void {
    const attempts = this.#attempts.get(path);
    if (attempts !== undefined) attempts.dueAt = undefined;
  }

  /**
   * To be called when an attempt has failed. Returns how many have failed since the device was last
   * connected; 0 if the device is no longer to be connected.
   */
  attemptFailed(path: string): number {
    const attempts = this.#attempts.get(path);
    if (attempts?.dueAt === undefined) return 0;
    attempts.failures += 1;
    this.#scheduleAfterPause(attempts);
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
    const { pauses } = this.#attemptsFor(path);
    this.#attempts.set(path, { ...NO_ATTEMPTS, pauses, connectedAt: this.#clock.monotonic() });
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

  #attemptsFor(path: string): Attempts {
    return this.#attempts.get(path) ?? { ...NO_ATTEMPTS };
  }

  #shouldReturn({ Paired, Address = '', UUIDs = [], Icon = '' }: BluetoothDevice): boolean {
    if (Paired !== true) return false;
    if (typeof this.#wish !== 'boolean') return this.#wish.includes(Address);
    return this.#wish && UUIDs.some(isPlayingService) && !PHONES_AND_COMPUTERS.includes(Icon);
  }
}
