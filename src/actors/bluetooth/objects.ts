// Keeps BlueZ's adapters, devices and batteries, with the properties that the daemon uses, and decides which
// adapter the daemon uses. Pure.

import { capped } from '../../printable.js';
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

/**
 * Objects beyond this number are ignored. A scan in a house with many Bluetooth devices finds a few hundred
 * of them. BlueZ itself forgets them after half a minute.
 */
const OBJECTS_MAX = 512;

/** An address as BlueZ writes it, such as `AA:BB:CC:DD:EE:FF`. */
const ADDRESS = /^[0-9A-F]{2}(?::[0-9A-F]{2}){5}$/;
/**
 * In UTF-16 units. Longer texts are cut. Bluetooth's own bound for a name is 248 bytes, and paths are far
 * shorter.
 */
const TEXT_MAX_UNITS = 248;

const PROPERTY_TABLES = {
  [ADAPTER_INTERFACE]: ADAPTER_PROPERTIES,
  [DEVICE_INTERFACE]: DEVICE_PROPERTIES,
  [BATTERY_INTERFACE]: BATTERY_PROPERTIES,
} as const;

type BluezInterface = keyof typeof PROPERTY_TABLES;
/** The properties of one object, by interface. A device and its battery are interfaces of one object. */
type BluezObject = { readonly [I in BluezInterface]?: PropertyValues<(typeof PROPERTY_TABLES)[I]> };

export interface BluetoothAdapter extends PropertyValues<typeof ADAPTER_PROPERTIES> {
  readonly path: string;
}

export interface BluetoothDevice extends PropertyValues<typeof DEVICE_PROPERTIES> {
  readonly path: string;
  /** In percent. */
  readonly battery: number | undefined;
  /**
   * True if a scan of any program has found the device. False if BlueZ knows the device only because it was
   * connected or paired.
   */
  readonly wasFoundByScan: boolean;
}

/**
 * A device before and after a signal. `before` is undefined for a new device, and `after` for a removed one.
 * Both are undefined if the changed object is no device, such as an adapter.
 */
export interface BluezChange {
  readonly path: string;
  readonly before: BluetoothDevice | undefined;
  readonly after: BluetoothDevice | undefined;
}

/** The reply of GetManagedObjects: properties by path, then by interface. */
export type ManagedObjects = Readonly<Record<string, Readonly<Record<string, PropertyRecord>>>>;

export class BluezObjects {
  readonly #objects = new Map<string, BluezObject>();
  /** The paths of the devices that a scan has found. */
  readonly #foundByScan = new Set<string>();

  constructor(objects: ManagedObjects = {}) {
    for (const [path, interfaces] of Object.entries(objects)) this.#addInterfaces(path, interfaces);
  }

  /**
   * The adapter to use; undefined if there is none. If there is a `name`, such as `hci0`, only the adapter
   * with this name is used. Without a name, the present adapter (`presentPath`) stays in use while it scans
   * or has a connection, or while a client's command needs it (`isBusy`). Otherwise BlueZ's default is used.
   */
  chooseAdapter(
    name: string | undefined,
    presentPath: string | undefined,
    isBusy: boolean,
  ): BluetoothAdapter | undefined {
    const adapters = this.#adapters();
    if (name !== undefined) return adapters.find(({ path }) => path.endsWith(`/${name}`));
    const present = adapters.find(({ path }) => path === presentPath);
    if (present !== undefined && (isBusy || this.isInUse(present))) return present;
    // BlueZ's default is the adapter with the lowest number.
    const byNumber = adapters.toSorted((one, other) => adapterNumber(one.path) - adapterNumber(other.path));
    return byNumber[0];
  }

  #adapters(): readonly BluetoothAdapter[] {
    const adapters: BluetoothAdapter[] = [];
    for (const [path, { [ADAPTER_INTERFACE]: adapter }] of this.#objects)
      if (adapter !== undefined) adapters.push({ path, ...adapter });
    return adapters;
  }

  /** True while the adapter scans or has a connection. */
  isInUse({ path, Discovering }: BluetoothAdapter): boolean {
    return Discovering === true || this.devicesOf(path).some(({ Connected }) => Connected === true);
  }

  /** Undefined if there is no device at the path. */
  device(path: string): BluetoothDevice | undefined {
    const { [DEVICE_INTERFACE]: device, [BATTERY_INTERFACE]: battery } = this.#objects.get(path) ?? {};
    if (device === undefined) return undefined;
    return {
      path,
      ...device,
      battery: validPercentage(battery?.Percentage),
      wasFoundByScan: this.#foundByScan.has(path),
    };
  }

  /** The devices of all adapters. */
  devices(): readonly BluetoothDevice[] {
    return [...this.#objects.keys()].flatMap((path) => this.device(path) ?? []);
  }

  devicesOf(adapter: string): readonly BluetoothDevice[] {
    return this.devices().filter((device) => device.Adapter === adapter);
  }

  /**
   * Applies the signal, and returns the change; undefined if the signal concerns none of the kept adapters,
   * devices and batteries. The loss of any interface of a kept object counts as a change, even if the daemon
   * does not keep this interface.
   */
  apply(signal: Signal): BluezChange | undefined {
    const { path } = signal;
    const changed = signalValues(PROPERTIES_CHANGED, signal);
    if (changed !== undefined) return this.#changeAt(path, () => this.#changeProperties(path, ...changed));
    const [addedPath, added] = signalValues(BLUEZ_SIGNALS.added, signal) ?? [];
    if (addedPath !== undefined && added !== undefined)
      return this.#changeAt(addedPath, () => this.#addInterfaces(addedPath, added));
    const [removedPath, removed] = signalValues(BLUEZ_SIGNALS.removed, signal) ?? [];
    if (removedPath !== undefined && removed !== undefined)
      return this.#changeAt(removedPath, () => this.#removeInterfaces(removedPath, removed));
    return undefined;
  }

  /** Runs `update`, which returns false if the signal concerns no kept object. */
  #changeAt(path: string, update: () => boolean): BluezChange | undefined {
    const before = this.device(path);
    return update() ? { path, before, after: this.device(path) } : undefined;
  }

  #addInterfaces(path: string, interfaces: Readonly<Record<string, PropertyRecord>>): boolean {
    const usedInterfaces: (readonly [BluezInterface, BluezObject[BluezInterface]])[] = [];
    for (const [name, properties] of Object.entries(interfaces))
      if (isUsedInterface(name))
        usedInterfaces.push([name, readProperties(PROPERTY_TABLES[name], boundedProperties(properties))]);
    const isOverBound = !this.#objects.has(path) && this.#objects.size >= OBJECTS_MAX;
    if (usedInterfaces.length === 0 || isOverBound) return false;
    this.#put(path, { ...this.#objects.get(path), ...Object.fromEntries(usedInterfaces) });
    return true;
  }

  #put(path: string, object: BluezObject): void {
    this.#objects.set(path, object);
    // A device has an RSSI only while a scan finds it.
    if (object[DEVICE_INTERFACE]?.RSSI !== undefined) this.#foundByScan.add(path);
  }

  #removeInterfaces(path: string, interfaces: readonly string[]): boolean {
    const object = this.#objects.get(path);
    if (object === undefined) return false;
    const remaining = Object.entries(object).filter(([name]) => !interfaces.includes(name));
    // An object is kept only while it has a used interface.
    this.#objects.delete(path);
    if (remaining.length > 0) this.#put(path, Object.fromEntries(remaining));
    else this.#foundByScan.delete(path);
    return true;
  }

  /**
   * `changed` has the properties whose new values the signal contains. `invalidated` has the names of those
   * that have changed without a new value in the signal.
   */
  #changeProperties(
    path: string,
    interfaceName: string,
    changed: PropertyRecord,
    invalidated: readonly string[],
  ): boolean {
    const object = this.#objects.get(path);
    if (object === undefined || !isUsedInterface(interfaceName) || object[interfaceName] === undefined)
      return false;
    const stillValid = Object.entries(object[interfaceName]).filter(
      ([property]) => !invalidated.includes(property),
    );
    const properties = {
      ...Object.fromEntries(stillValid),
      ...readProperties(PROPERTY_TABLES[interfaceName], boundedProperties(changed)),
    };
    this.#put(path, { ...object, [interfaceName]: properties });
    return true;
  }
}

function isUsedInterface(name: string): name is BluezInterface {
  return Object.hasOwn(PROPERTY_TABLES, name);
}

/**
 * Bounds the values, because many of them come from devices of strangers. Addresses of a wrong form are left
 * out. Only the services for sound or for input are kept. Long texts are cut.
 */
function boundedProperties(properties: PropertyRecord): PropertyRecord {
  const bounded = Object.entries(properties).flatMap(([name, value]) => {
    if (name === 'Address' && !isAddress(value)) return [];
    if (name === 'UUIDs' && Array.isArray(value)) return [[name, value.filter(isRelevantService)]];
    return [[name, typeof value === 'string' ? capped(value, TEXT_MAX_UNITS) : value]];
  });
  return Object.fromEntries(bounded);
}

const isAddress = (value: unknown): boolean => typeof value === 'string' && ADDRESS.test(value);

const isRelevantService = (uuid: unknown): boolean =>
  typeof uuid === 'string' && (isSoundService(uuid) || isInputService(uuid));

/** Undefined for a value above 100: a device that does not know its charge reports 255. */
function validPercentage(value: number | undefined): number | undefined {
  return value !== undefined && value <= 100 ? value : undefined;
}

/**
 * The number at the end of an adapter's path, such as 0 for `/org/bluez/hci0`; infinity if the path has no
 * number, so that its adapter comes last.
 */
function adapterNumber(path: string): number {
  return Number(/\d+$/.exec(path)?.[0] ?? Number.POSITIVE_INFINITY);
}
