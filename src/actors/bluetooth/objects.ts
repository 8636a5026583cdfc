// The objects of BlueZ as it announces them: adapters, devices, and batteries, with the properties that are
// used. Pure.

import {
  ADAPTER_INTERFACE,
  ADAPTER_PROPERTIES,
  BATTERY_INTERFACE,
  BATTERY_PROPERTIES,
  BLUEZ_SIGNALS,
  DEVICE_INTERFACE,
  DEVICE_PROPERTIES,
  isInputService,
  isSoundService,
} from '../../protocol/dbus/bluez.js';
import {
  PROPERTIES_CHANGED,
  type PropertyRecord,
  type PropertyValues,
  readProperties,
} from '../../protocol/dbus/daemon.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import { capped } from '../text.js';

/**
 * A scan in a house full of radios finds some hundred devices; BlueZ itself keeps them for only half a
 * minute.
 */
const OBJECTS_MAX = 512;

const ADDRESS = /^[0-9A-F]{2}(?::[0-9A-F]{2}){5}$/;
/** Bluetooth's own bound for a name is 248 bytes. A path of a device has some forty characters. */
const TEXT_MAX_UNITS = 248;

const TABLES = {
  [ADAPTER_INTERFACE]: ADAPTER_PROPERTIES,
  [DEVICE_INTERFACE]: DEVICE_PROPERTIES,
  [BATTERY_INTERFACE]: BATTERY_PROPERTIES,
} as const;

type Interface = keyof typeof TABLES;
type BluezObject = { readonly [I in Interface]?: PropertyValues<(typeof TABLES)[I]> };

export interface Adapter extends PropertyValues<typeof ADAPTER_PROPERTIES> {
  readonly path: string;
}

export interface Device extends PropertyValues<typeof DEVICE_PROPERTIES> {
  readonly path: string;
  /** In percent. */
  readonly battery: number | undefined;
  /** True if a scan of any program has found it; false if it is there because it has connected. */
  readonly wasFound: boolean;
}

/** A device before and after a signal; both are undefined if the signal has changed something else. */
export interface BluezChange {
  readonly path: string;
  readonly before: Device | undefined;
  readonly after: Device | undefined;
}

/** By path, then by interface: a reply of GetManagedObjects. */
export type ManagedObjects = Readonly<Record<string, Readonly<Record<string, PropertyRecord>>>>;

export class BluezObjects {
  readonly #objects = new Map<string, BluezObject>();
  /** Paths of devices that a scan has found. */
  readonly #found = new Set<string>();

  constructor(all: ManagedObjects = {}) {
    for (const [path, interfaces] of Object.entries(all)) this.#add(path, interfaces);
  }

  /**
   * The adapter to use: the one called `name` (`hci0`). Without a name it is the one at the path `present`
   * while that is in use, or `isBusy` with our commands; otherwise BlueZ's default.
   */
  adapter(name: string | undefined, present: string | undefined, isBusy: boolean): Adapter | undefined {
    const found = [...this.#objects].flatMap(([path, { [ADAPTER_INTERFACE]: adapter }]) =>
      adapter === undefined ? [] : [{ path, ...adapter }],
    );
    if (name !== undefined) return found.find(({ path }) => path.endsWith(`/${name}`));
    const kept = found.find((each) => each.path === present && (isBusy || this.isInUse(each)));
    return kept ?? found.sort((one, other) => numberOf(one.path) - numberOf(other.path))[0];
  }

  /** True while the adapter scans or has a connection. */
  isInUse({ path, Discovering }: Adapter): boolean {
    return Discovering === true || this.devicesOf(path).some(({ Connected }) => Connected === true);
  }

  /** Undefined if there is no device at the path. */
  device(path: string): Device | undefined {
    const { [DEVICE_INTERFACE]: device, [BATTERY_INTERFACE]: battery } = this.#objects.get(path) ?? {};
    if (device === undefined) return undefined;
    return { path, ...device, battery: percentage(battery?.Percentage), wasFound: this.#found.has(path) };
  }

  /** The devices of all adapters. */
  devices(): readonly Device[] {
    return [...this.#objects.keys()].flatMap((path) => this.device(path) ?? []);
  }

  devicesOf(adapter: string): readonly Device[] {
    return this.devices().filter((device) => device.Adapter === adapter);
  }

  /** Undefined if nothing has changed that is used here. */
  apply(signal: Signal): BluezChange | undefined {
    const changed = signalValues(PROPERTIES_CHANGED, signal);
    if (changed !== undefined) return this.#compare(signal.path, () => this.#change(signal.path, ...changed));
    const added = signalValues(BLUEZ_SIGNALS.added, signal);
    if (added !== undefined) return this.#compare(added[0], () => this.#add(...added));
    const removed = signalValues(BLUEZ_SIGNALS.removed, signal);
    return removed && this.#compare(removed[0], () => this.#remove(...removed));
  }

  #compare(path: string, change: () => boolean): BluezChange | undefined {
    const before = this.device(path);
    return change() ? { path, before, after: this.device(path) } : undefined;
  }

  #add(path: string, interfaces: Readonly<Record<string, PropertyRecord>>): boolean {
    const known = Object.entries(interfaces).flatMap(([name, record]) =>
      isUsed(name) ? [[name, readProperties(TABLES[name], bounded(record))]] : [],
    );
    if (known.length === 0 || (!this.#objects.has(path) && this.#objects.size >= OBJECTS_MAX)) return false;
    this.#put(path, { ...this.#objects.get(path), ...Object.fromEntries(known) });
    return true;
  }

  #put(path: string, object: BluezObject): void {
    this.#objects.set(path, object);
    if (object[DEVICE_INTERFACE]?.RSSI !== undefined) this.#found.add(path);
  }

  #remove(path: string, interfaces: readonly string[]): boolean {
    const object = this.#objects.get(path);
    if (object === undefined) return false;
    const left = Object.entries(object).filter(([name]) => !interfaces.includes(name));
    this.#objects.delete(path);
    if (left.length > 0) this.#put(path, Object.fromEntries(left));
    else this.#found.delete(path);
    return true;
  }

  #change(path: string, name: string, changed: PropertyRecord, invalidated: readonly string[]): boolean {
    const object = this.#objects.get(path);
    if (object === undefined || !isUsed(name) || object[name] === undefined) return false;
    const kept = Object.entries(object[name]).filter(([property]) => !invalidated.includes(property));
    const properties = { ...Object.fromEntries(kept), ...readProperties(TABLES[name], bounded(changed)) };
    this.#put(path, { ...object, [name]: properties });
    return true;
  }
}

function isUsed(name: string): name is Interface {
  return Object.hasOwn(TABLES, name);
}

/**
 * Many values come from strangers' devices: an address must have its form, a text is cut, and services that
 * decide nothing are left out.
 */
function bounded(record: PropertyRecord): PropertyRecord {
  const known = Object.entries(record).flatMap(([name, value]) => {
    if (name === 'Address' && !(typeof value === 'string' && ADDRESS.test(value))) return [];
    if (name === 'UUIDs' && Array.isArray(value)) return [[name, value.filter(isDecisive)]];
    return [[name, typeof value === 'string' ? capped(value, TEXT_MAX_UNITS) : value]];
  });
  return Object.fromEntries(known);
}

const isDecisive = (uuid: unknown): boolean =>
  typeof uuid === 'string' && (isSoundService(uuid) || isInputService(uuid));

/** Devices that do not know their charge report 255. */
function percentage(value: number | undefined): number | undefined {
  return value !== undefined && value <= 100 ? value : undefined;
}

/** The number of an adapter. BlueZ's default is the adapter with the lowest number. */
function numberOf(path: string): number {
  return Number(/\d+$/.exec(path)?.[0] ?? Number.POSITIVE_INFINITY);
}
