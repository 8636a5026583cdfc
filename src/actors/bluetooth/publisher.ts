// Publishes the adapter and its devices: makes their records of the objects of BlueZ (docs/http-api.md, "Bluetooth device"), with the output
// of the sound server that a device is, and sends what differs from before, no more often than clients were promised (docs/events.md,
// "Events").

import { type Clock, Timers, within } from '../../clock.js';
import type { BluetoothCommand } from '../../protocol/actor/commands.js';
import type { ChangeBatch } from '../../protocol/actor/messages.js';
import type { BluetoothRecord, DeviceRecord, OutputRecord } from '../../protocol/actor/schemas.js';
import type { Publisher } from '../runtime.js';
import { capped } from '../text.js';
import type { Adapter, Device } from './objects.js';

/** One change of BlueZ's causes several signals, and becomes one event. */
const GATHER_MS = 50;
/** Four events a second. */
const PAUSE_MS = 250;
/** Ten events a second. */
const DISCOVERED_PAUSE_MS = 100;
/** BlueZ announces a change within milliseconds of its reply, and the next event is at most a pause away. */
const SEEN_MAX_MS = 1_000;

/** The present state, as clients are to see it. */
export interface BluetoothRecords {
  readonly bluetooth: BluetoothRecord;
  readonly devices: ReadonlyMap<string, DeviceRecord>;
}

/** Table of the commands: true if the published state shows that one has been carried out. A connection has its own time, and its end is an event. */
export const IS_DONE: Readonly<
  Partial<Record<BluetoothCommand['do'], (shown: BluetoothRecords, address: string) => boolean>>
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
  readonly #shown: () => BluetoothRecords | undefined;
  readonly #timers: Timers<'publish' | 'discover'>;
  #publishedAt = Number.NEGATIVE_INFINITY;
  #published = '';
  readonly #devices = new Map<string, string>();
  /** Addresses that a scan has found, or seen changed, without an event yet. */
  readonly #found = new Set<string>();
  readonly #changed = new Set<string>();
  #isOutcome = false;
  /** Commands that wait until what they have changed is published. */
  readonly #waiters = new Map<(shown: BluetoothRecords) => boolean, () => void>();

  constructor(
    publish: Pick<Publisher, 'put' | 'drop'>,
    clock: Clock,
    /** Undefined while there is nothing to show. */
    shown: () => BluetoothRecords | undefined,
  ) {
    this.#publish = publish;
    this.#clock = clock;
    this.#shown = shown;
    this.#timers = new Timers(clock);
  }

  changed(): void {
    if (this.#timers.has('publish')) return;
    const waitMs = Math.max(GATHER_MS, this.#publishedAt + PAUSE_MS - this.#clock.monotonic());
    this.#timers.set('publish', waitMs, () => this.publishNow());
  }

  /** Resolves when a state for which `isTrue` is published, when nothing is shown any more, or after a while. */
  async seen(isTrue: (shown: BluetoothRecords) => boolean): Promise<void> {
    const waiter = (shown: BluetoothRecords): boolean => isTrue(shown);
    const published = new Promise<void>((resolve) => this.#waiters.set(waiter, resolve));
    this.changed();
    await within(this.#clock, SEEN_MAX_MS, published);
    this.#waiters.delete(waiter);
  }

  /** Something ended that a client waits for: there will be an event, even if nothing is different. */
  ended(): void {
    this.#isOutcome = true;
    this.changed();
  }

  publishNow(): void {
    this.#timers.cancel('publish');
    const shown = this.#shown();
    if (shown === undefined) return;
    this.#publishedAt = this.#clock.monotonic();
    const text = JSON.stringify(shown.bluetooth);
    if (text !== this.#published) this.#publish.put('bluetooth', '', text);
    else if (this.#isOutcome) this.#publish.put('bluetooth.outcome', '', text);
    this.#published = text;
    this.#isOutcome = false;
    for (const [address, device] of shown.devices)
      this.#publishDevice(address, JSON.stringify(device), shown.bluetooth.scanning);
    for (const address of [...this.#devices.keys()]) if (!shown.devices.has(address)) this.#gone(address);
    if (!this.#timers.has('discover')) this.#discover();
    for (const [isTrue, done] of this.#waiters) if (isTrue(shown)) done();
  }

  /** Forgets what was published: leaving `up` has removed it, or made it old. */
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

  #gone(address: string): void {
    this.#devices.delete(address);
    this.#found.delete(address);
    this.#changed.delete(address);
    this.#publish.drop('bluetooth.devices', address);
    this.#publish.drop('bluetooth.discovered', address);
  }

  /** One device at a time; new ones do not wait for those whose signal is only stronger now. */
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

/** `pairingUntil`: when pairing mode ends, in milliseconds since the epoch; undefined while it is off. */
export function recordsOf(
  adapter: Adapter,
  all: readonly Device[],
  outputs: DeviceOutputs,
  pairingUntil: number | undefined,
): BluetoothRecords {
  const devices = new Map<string, DeviceRecord>();
  const known: DeviceRecord[] = [];
  for (const device of all) {
    const { Address: address, Paired, Trusted, Connected } = device;
    if (address === undefined) continue;
    const record = deviceRecord(device, adapter.Discovering === true, outputs.outputName(address));
    devices.set(address, record);
    // These stay; the others are what a scan has found, and BlueZ forgets them by itself.
    if (Paired === true || Trusted === true || Connected === true) known.push(record);
  }
  return { bluetooth: bluetoothRecord(adapter, known, pairingUntil), devices };
}

/** The radio's own bound is 248 bytes. */
const NAME_MAX_UNITS = 248;

function deviceRecord(device: Device, isScanning: boolean, output: string | undefined): DeviceRecord {
  const { Address: address = '', Alias, Icon, Paired = false, Bonded = Paired } = device;
  const { Trusted = false, Connected = false, RSSI, battery } = device;
  return {
    address,
    name: capped(Alias || address, NAME_MAX_UNITS),
    ...{ paired: Paired, bonded: Bonded, trusted: Trusted, connected: Connected },
    ...(Icon && { kind: capped(Icon, NAME_MAX_UNITS) }),
    ...(battery !== undefined && { battery }),
    ...(isScanning && RSSI !== undefined && { rssi: RSSI }),
    ...(output !== undefined && { output }),
  };
}

function bluetoothRecord(
  adapter: Adapter,
  known: readonly DeviceRecord[],
  pairingUntil: number | undefined,
): BluetoothRecord {
  const { Address = '', Alias, Powered = false, Discoverable = false, Pairable = false } = adapter;
  return {
    powered: Powered,
    discoverable: Discoverable,
    pairable: Pairable,
    pairing_active: pairingUntil !== undefined,
    ...(pairingUntil !== undefined && { pairing_until: new Date(pairingUntil).toISOString() }),
    scanning: adapter.Discovering ?? false,
    known_devices: known.toSorted((one, other) => (one.address < other.address ? -1 : 1)),
    name: capped(Alias || Address, NAME_MAX_UNITS),
    address: Address,
  };
}

/** PipeWire: `bluez_output.AA_BB_CC_DD_EE_FF.1`; PulseAudio: `bluez_sink.AA_BB_CC_DD_EE_FF.a2dp_sink`. */
const OF_BLUEZ = /^bluez_(?:output|sink)\.((?:[0-9A-F]{2}_){5}[0-9A-F]{2})\b/i;

/** Finds the output that belongs to a device by the address in the output's name. */
export class DeviceOutputs {
  /** By the records' keys. */
  readonly #found = new Map<string, { readonly address: string; readonly name: string }>();

  /** True if any device is another output now, or none. */
  applyChanges({ isWhole, changes }: ChangeBatch): boolean {
    const before = JSON.stringify([...this.#found]);
    if (isWhole) this.#found.clear();
    for (const change of changes) {
      this.#found.delete(change.key);
      // Most outputs are no device, and change often: they are not worth being parsed.
      if (change.kind === 'drop' || !change.json.includes('"bluez_')) continue;
      const { name } = JSON.parse(change.json) as OutputRecord;
      const address = OF_BLUEZ.exec(name)?.[1]?.replaceAll('_', ':').toUpperCase();
      if (address !== undefined) this.#found.set(change.key, { address, name });
    }
    return JSON.stringify([...this.#found]) !== before;
  }

  outputName(address: string): string | undefined {
    return [...this.#found.values()].find((output) => output.address === address)?.name;
  }
}
