// Publishes the records of the adapter and its devices where they have changed, no more often than clients
// were promised (docs/events.md, "Events").

import { type Clock, Timers, within } from '../../host/clock.js';
import type { BluetoothCommand } from '../../protocol/actor/commands.js';
import type { Publisher } from '../runtime.js';
import type { BluetoothRecords } from './records.js';

/** One change in BlueZ causes several signals within this time, and becomes one event. */
const GATHER_MS = 50;
/** The pause between two events of the adapter and its known devices: at most four a second. */
const PAUSE_MS = 250;
/** The pause between two events of a scan: at most ten a second. */
const DISCOVERED_PAUSE_MS = 100;
/** BlueZ announces a change within milliseconds of its reply, and the next event is at most a pause away. */
const PUBLISHED_MAX_MS = 1_000;

/**
 * Table of the commands: the function returns true if the published records show that the command has been
 * carried out. `connect` is missing, because its end is an event of its own.
 */
export const IS_DONE: Readonly<
  Partial<Record<BluetoothCommand['do'], (records: BluetoothRecords, address: string) => boolean>>
> = {
  power_up: ({ bluetooth }) => bluetooth.powered,
  power_down: ({ bluetooth }) => !bluetooth.powered,
  pairing_mode: ({ bluetooth }) => bluetooth.pairing_active && bluetooth.discoverable && bluetooth.pairable,
  'pairing_mode/stop': ({ bluetooth: { pairing_active, discoverable, pairable } }) =>
    !(pairing_active || discoverable || pairable),
  scan: ({ bluetooth }) => bluetooth.scanning,
  'scan/stop': ({ bluetooth }) => !bluetooth.scanning,
  disconnect: ({ devices }, address) => devices.get(address)?.connected !== true,
  forget: ({ devices }, address) => !devices.has(address),
};

export class BluetoothPublisher {
  readonly #publish: Pick<Publisher, 'put' | 'drop'>;
  readonly #clock: Clock;
  readonly #recordsNow: () => BluetoothRecords | undefined;
  readonly #timers: Timers<'publish' | 'discover'>;
  #publishedAt = Number.NEGATIVE_INFINITY;
  #published = '';
  readonly #devices = new Map<string, string>();
  /** Addresses of devices that a scan has found, or that have changed in it, and that had no event yet. */
  readonly #found = new Set<string>();
  readonly #changed = new Set<string>();
  #isOutcome = false;
  /** Commands that wait until what they have changed is published. */
  readonly #waiters = new Map<(records: BluetoothRecords) => boolean, () => void>();

  /** `recordsNow` returns undefined while there is no adapter. */
  constructor(publish: Publisher, clock: Clock, recordsNow: () => BluetoothRecords | undefined) {
    this.#publish = publish;
    this.#clock = clock;
    this.#recordsNow = recordsNow;
    this.#timers = new Timers(clock);
  }

  changed(): void {
    if (this.#timers.has('publish')) return;
    const waitMs = Math.max(GATHER_MS, this.#publishedAt + PAUSE_MS - this.#clock.monotonic());
    this.#timers.set('publish', waitMs, () => this.publishNow());
  }

  /**
   * Resolves when a state is published for which `isTrue` returns true, when the adapter is gone, or after
   * PUBLISHED_MAX_MS.
   */
  async untilPublished(isTrue: (records: BluetoothRecords) => boolean): Promise<void> {
    const waiter = (records: BluetoothRecords): boolean => isTrue(records);
    const published = new Promise<void>((resolve) => this.#waiters.set(waiter, resolve));
    this.changed();
    await within(this.#clock, PUBLISHED_MAX_MS, published);
    this.#waiters.delete(waiter);
  }

  /** A connection that a client waits for has ended: there will be an event, even if nothing has changed. */
  ended(): void {
    this.#isOutcome = true;
    this.changed();
  }

  publishNow(): void {
    this.#timers.cancel('publish');
    const records = this.#recordsNow();
    if (records === undefined) return;
    this.#publishedAt = this.#clock.monotonic();
    const text = JSON.stringify(records.bluetooth);
    if (text !== this.#published) this.#publish.put('bluetooth', '', text);
    else if (this.#isOutcome) this.#publish.put('bluetooth.outcome', '', text);
    this.#published = text;
    this.#isOutcome = false;
    for (const [address, device] of records.devices)
      this.#publishDevice(address, JSON.stringify(device), records.bluetooth.scanning);
    for (const address of [...this.#devices.keys()])
      if (!records.devices.has(address)) this.#dropDevice(address);
    if (!this.#timers.has('discover')) this.#discover();
    for (const [isTrue, done] of this.#waiters) if (isTrue(records)) done();
  }

  /** Forgets the published records: once the backend is no longer up, they are removed or outdated. */
  forget(): void {
    this.#timers.cancelAll();
    this.#published = '';
    this.#isOutcome = false;
    this.#devices.clear();
    this.#found.clear();
    this.#changed.clear();
    for (const done of this.#waiters.values()) done();
  }

  #publishDevice(address: string, text: string, isScanning: boolean): void {
    const before = this.#devices.get(address);
    if (before === text) return;
    this.#devices.set(address, text);
    this.#publish.put('bluetooth.devices', address, text);
    if (!isScanning) return;
    if (before === undefined) this.#found.add(address);
    else if (!this.#found.has(address)) this.#changed.add(address);
  }

  #dropDevice(address: string): void {
    this.#devices.delete(address);
    this.#found.delete(address);
    this.#changed.delete(address);
    this.#publish.drop('bluetooth.devices', address);
    this.#publish.drop('bluetooth.discovered', address);
  }

  /** Publishes one device at a time. New devices come first: others may only have a stronger signal now. */
  #discover(): void {
    const [address] = this.#found.size > 0 ? this.#found : this.#changed;
    const text = address === undefined ? undefined : this.#devices.get(address);
    if (address === undefined || text === undefined) return;
    this.#found.delete(address);
    this.#changed.delete(address);
    this.#publish.put('bluetooth.discovered', address, text);
    this.#timers.set('discover', DISCOVERED_PAUSE_MS, () => this.#discover());
  }
}
