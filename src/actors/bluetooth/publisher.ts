// Decides when the records of the adapter and its devices are published: when they have changed, but not
// more often than docs/events.md, "Events", promises.

import { type Clock, Timers, within } from '../../host/clock.js';
import type { BluetoothCommand } from '../../protocol/actor/commands.js';
import type { Publisher } from '../runtime.js';
import type { BluetoothRecords } from './records.js';

/** One change in BlueZ causes several signals within this time, and becomes one event. */
const GATHER_MS = 50;
/** The shortest pause between two events `bluetooth.updated`: clients get at most four per second. */
const PAUSE_MS = 250;
/** The shortest pause between two events `bluetooth.discovered`: clients get at most ten per second. */
const DISCOVERED_PAUSE_MS = 100;
/**
 * The longest wait for the publication of a change. BlueZ announces most changes a few milliseconds after its
 * reply to the call, but a connection up to 330 ms after the reply. The event follows at most PAUSE_MS after
 * the announcement.
 */
const PUBLISHED_MAX_MS = 1_000;

/**
 * By command: a function that returns true if the records show that the command has been carried out.
 * `connect` is missing, because connecting.ts itself waits for the outcome.
 */
export const IS_CARRIED_OUT: Readonly<
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

interface Waiter {
  /** True if the records contain the state for which the waiter waits. */
  readonly isReached: (records: BluetoothRecords) => boolean;
  readonly stopWaiting: () => void;
}

export class BluetoothPublisher {
  readonly #publish: Pick<Publisher, 'put' | 'drop'>;
  readonly #clock: Clock;
  readonly #currentRecords: () => BluetoothRecords | undefined;
  readonly #timers: Timers<'adapter' | 'discovered'>;
  #publishedAtMs = Number.NEGATIVE_INFINITY;
  /** The published text of the adapter's record. */
  #adapterText = '';
  /** The published texts of the devices' records, by address. */
  readonly #deviceTexts = new Map<string, string>();
  /** The addresses of devices that are new in a scan, and still need an event `bluetooth.discovered`. */
  readonly #newlyFound = new Set<string>();
  /** The addresses of other devices that have changed during a scan, and that still need this event. */
  readonly #changedInScan = new Set<string>();
  /**
   * True if the next publication must make the event `bluetooth.updated`, even if the adapter's record has
   * not changed. An unchanged record is then published in the collection `bluetooth.outcome`, because each
   * put in this collection makes the event.
   */
  #isOutcomeDue = false;
  readonly #waiters = new Set<Waiter>();

  /** `currentRecords` returns undefined while there is no adapter. */
  constructor(publish: Publisher, clock: Clock, currentRecords: () => BluetoothRecords | undefined) {
    this.#publish = publish;
    this.#clock = clock;
    this.#currentRecords = currentRecords;
    this.#timers = new Timers(clock);
  }

  /** To be called when the records may have changed. */
  publishSoon(): void {
    if (this.#timers.has('adapter')) return;
    const waitMs = Math.max(GATHER_MS, this.#publishedAtMs + PAUSE_MS - this.#clock.monotonic());
    this.#timers.set('adapter', waitMs, () => this.publishNow());
  }

  /**
   * Resolves when `isReached` returns true for the published records, when the backend is no longer up
   * (`forget`), or after PUBLISHED_MAX_MS.
   */
  async untilPublished(isReached: (records: BluetoothRecords) => boolean): Promise<void> {
    let stopWaiting = (): void => undefined;
    const published = new Promise<void>((resolve) => {
      stopWaiting = resolve;
    });
    const waiter = { isReached, stopWaiting };
    this.#waiters.add(waiter);
    // The change may be published already, and no other change may follow. This call makes `publishNow` call
    // `isReached` even then.
    this.publishSoon();
    await within(this.#clock, PUBLISHED_MAX_MS, published);
    this.#waiters.delete(waiter);
  }

  /**
   * To be called when an attempt to connect has ended after its client was answered. The client waits for an
   * event, so an event comes even if no record has changed.
   */
  publishOutcome(): void {
    this.#isOutcomeDue = true;
    this.publishSoon();
  }

  publishNow(): void {
    this.#timers.cancel('adapter');
    const records = this.#currentRecords();
    if (records === undefined) return;
    this.#publishedAtMs = this.#clock.monotonic();
    const text = JSON.stringify(records.bluetooth);
    if (text !== this.#adapterText) this.#publish.put('bluetooth', '', text);
    else if (this.#isOutcomeDue) this.#publish.put('bluetooth.outcome', '', text);
    this.#adapterText = text;
    this.#isOutcomeDue = false;
    for (const [address, device] of records.devices)
      this.#publishDevice(address, JSON.stringify(device), records.bluetooth.scanning);
    for (const address of [...this.#deviceTexts.keys()])
      if (!records.devices.has(address)) this.#dropDevice(address);
    // While this timer is set, the pause after the last event of the scan is not over.
    if (!this.#timers.has('discovered')) this.#publishDiscovered();
    for (const { isReached, stopWaiting } of this.#waiters) if (isReached(records)) stopWaiting();
  }

  /** To be called when the backend is no longer up. The journal then drops the records of the devices. */
  forget(): void {
    this.#timers.cancelAll();
    this.#adapterText = '';
    this.#isOutcomeDue = false;
    this.#deviceTexts.clear();
    this.#newlyFound.clear();
    this.#changedInScan.clear();
    for (const { stopWaiting } of this.#waiters) stopWaiting();
  }

  #publishDevice(address: string, text: string, isScanning: boolean): void {
    const before = this.#deviceTexts.get(address);
    if (before === text) return;
    this.#deviceTexts.set(address, text);
    this.#publish.put('bluetooth.devices', address, text);
    if (!isScanning) return;
    if (before === undefined) this.#newlyFound.add(address);
    else if (!this.#newlyFound.has(address)) this.#changedInScan.add(address);
  }

  #dropDevice(address: string): void {
    this.#deviceTexts.delete(address);
    this.#newlyFound.delete(address);
    this.#changedInScan.delete(address);
    this.#publish.drop('bluetooth.devices', address);
    this.#publish.drop('bluetooth.discovered', address);
  }

  /**
   * Publishes one device, and the next one after a pause. New devices come first, because the others may have
   * changed only in the strength of their signal.
   */
  #publishDiscovered(): void {
    const [address] = this.#newlyFound.size > 0 ? this.#newlyFound : this.#changedInScan;
    const text = address === undefined ? undefined : this.#deviceTexts.get(address);
    if (address === undefined || text === undefined) return;
    this.#newlyFound.delete(address);
    this.#changedInScan.delete(address);
    this.#publish.put('bluetooth.discovered', address, text);
    this.#timers.set('discovered', DISCOVERED_PAUSE_MS, () => this.#publishDiscovered());
  }
}
