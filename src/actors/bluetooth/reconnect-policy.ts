// Decides which known devices are to be connected again, and when (docs/bluetooth.md, "Coming back by
// itself"). It calls nobody and sets no timer.

import type { Clock } from '../../host/clock.js';
import { INTENDED, isPlayingService } from '../../protocol/dbus/bluez.js';
import type { Device } from './objects.js';

const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** A connection that was lost before it had lasted so long does not begin the pauses anew. */
const STEADY_MS = 60_000;

/** BlueZ's `Icon` of a device with sound of its own, though it may also play that of others. */
const NO_LOUDSPEAKERS: readonly string[] = ['phone', 'computer'];

/** `true` means all known loudspeakers and headphones, a list the devices with these addresses. */
export type ReconnectWish = boolean | readonly string[];

interface Attempts {
  /** Pauses so far since the device was steadily connected. */
  pauses: number;
  /** Monotonic, as the next one; undefined while it is connected, or was disconnected by somebody. */
  dueAt: number | undefined;
  connectedAt: number | undefined;
  /** Somebody has disconnected it, or is doing so. */
  isLeft: boolean;
}

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
  begin(devices: readonly Device[]): void {
    this.#attempts.clear();
    const dueAt = this.#clock.monotonic();
    for (const device of devices) {
      if (!this.#isToReturn(device) || device.Connected === true) continue;
      this.#attempts.set(device.path, { pauses: 0, dueAt, connectedAt: undefined, isLeft: false });
    }
  }

  /** To be called when the adapter is gone or off. */
  end(): void {
    this.#attempts.clear();
  }

  deviceChanged(path: string, before: Device | undefined, after: Device | undefined): void {
    if (after === undefined || !this.#isToReturn(after)) {
      this.#attempts.delete(path);
      return;
    }
    const was = before?.Connected === true;
    const is = after.Connected === true;
    if (is && !was) this.#connected(path);
    if (was && !is) this.#lost(path);
  }

  /** `reason` is BlueZ's. It comes before BlueZ reports the device as disconnected, or after that. */
  disconnected(path: string, reason: string): void {
    if (INTENDED.includes(reason)) this.left(path);
  }

  /** To be called when somebody has disconnected the device: it stays so until somebody connects it. */
  left(path: string): void {
    const { pauses, connectedAt } = this.#of(path);
    this.#attempts.set(path, { pauses, connectedAt, dueAt: undefined, isLeft: true });
  }

  succeeded(path: string): void {
    const attempts = this.#attempts.get(path);
    if (attempts !== undefined) attempts.dueAt = undefined;
  }

  /** Returns how many attempts have failed in succession; 0 if the device is no longer to be connected. */
  failed(path: string): number {
    const attempts = this.#attempts.get(path);
    if (attempts?.dueAt === undefined) return 0;
    this.#pause(attempts);
    return attempts.pauses;
  }

  /** The device that is to be connected next, and from when on. */
  next(): { readonly path: string; readonly dueAt: number } | undefined {
    const due = [...this.#attempts].flatMap(([path, { dueAt }]) =>
      dueAt === undefined ? [] : [{ path, dueAt }],
    );
    return due.sort((one, other) => one.dueAt - other.dueAt)[0];
  }

  #connected(path: string): void {
    const { pauses } = this.#of(path);
    const connectedAt = this.#clock.monotonic();
    this.#attempts.set(path, { pauses, connectedAt, dueAt: undefined, isLeft: false });
  }

  #lost(path: string): void {
    const attempts = this.#of(path);
    const { connectedAt = Number.NEGATIVE_INFINITY } = attempts;
    if (attempts.isLeft) return;
    if (this.#clock.monotonic() - connectedAt >= STEADY_MS) attempts.pauses = 0;
    this.#pause(attempts);
    this.#attempts.set(path, attempts);
  }

  #pause(attempts: Attempts): void {
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** attempts.pauses, LONGEST_PAUSE_MS);
    attempts.pauses += 1;
    attempts.dueAt = this.#clock.monotonic() + pauseMs;
  }

  #of(path: string): Attempts {
    return this.#attempts.get(path) ?? { pauses: 0, dueAt: undefined, connectedAt: undefined, isLeft: false };
  }

  #isToReturn({ Paired, Address = '', UUIDs = [], Icon = '' }: Device): boolean {
    if (Paired !== true) return false;
    if (typeof this.#wish !== 'boolean') return this.#wish.includes(Address);
    return this.#wish && UUIDs.some(isPlayingService) && !NO_LOUDSPEAKERS.includes(Icon);
  }
}
