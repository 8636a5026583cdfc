// Table of the methods, signals, properties and errors of BlueZ (org.bluez) in use, and of the agent that
// BlueZ calls. Data only. Reference: BlueZ's doc/org.bluez.Adapter.rst, .Device.rst, .Agent.rst,
// .AgentManager.rst.

import type { PropertyTable } from './daemon.js';
import { setProperty } from './daemon.js';
import { methodsOf, signalRow } from './method.js';

export const BLUEZ_NAME = 'org.bluez';
/** All objects of BlueZ lie below it. */
export const BLUEZ_PATHS = '/org/bluez';
export const ADAPTER_INTERFACE = 'org.bluez.Adapter1';
export const DEVICE_INTERFACE = 'org.bluez.Device1';
export const BATTERY_INTERFACE = 'org.bluez.Battery1';
const OBJECT_MANAGER = 'org.freedesktop.DBus.ObjectManager';

const manager = methodsOf(BLUEZ_NAME, '/', OBJECT_MANAGER);
const agents = methodsOf(BLUEZ_NAME, BLUEZ_PATHS, 'org.bluez.AgentManager1');
/** Called on an adapter's path. */
const adapter = methodsOf(BLUEZ_NAME, undefined, ADAPTER_INTERFACE);
/** Called on a device's path. */
const device = methodsOf(BLUEZ_NAME, undefined, DEVICE_INTERFACE);

export const BLUEZ_METHODS = {
  /** -> path -> interface -> properties. */
  getManagedObjects: manager('GetManagedObjects', ['', 'a{oa{sa{sv}}}'], 'none'),
  /** Our object's path, and what its owner can do: see `AGENT_CAPABILITY`. */
  registerAgent: agents('RegisterAgent', ['os', ''], 'bluetooth'),
  /** Makes it the one that is asked about pairings that others begin. */
  requestDefaultAgent: agents('RequestDefaultAgent', ['o', ''], 'bluetooth'),
  unregisterAgent: agents('UnregisterAgent', ['o', ''], 'bluetooth'),
  /** Holds for this connection's discovery only; so do start and stop. */
  setDiscoveryFilter: adapter('SetDiscoveryFilter', ['a{sv}', ''], 'bluetooth'),
  startDiscovery: adapter('StartDiscovery', ['', ''], 'bluetooth'),
  stopDiscovery: adapter('StopDiscovery', ['', ''], 'bluetooth'),
  /** A device's path: forgets its keys too. */
  removeDevice: adapter('RemoveDevice', ['o', ''], 'bluetooth'),
  connect: device('Connect', ['', ''], 'bluetooth'),
  /** Also ends a Connect that is under way. */
  disconnect: device('Disconnect', ['', ''], 'bluetooth'),
  pair: device('Pair', ['', ''], 'bluetooth'),
  set: setProperty(BLUEZ_NAME, 'bluetooth'),
} as const;

export const BLUEZ_SIGNALS = {
  /** Path, interface -> properties. */
  added: signalRow(OBJECT_MANAGER, 'InterfacesAdded', 'oa{sa{sv}}'),
  /** Path, interfaces. */
  removed: signalRow(OBJECT_MANAGER, 'InterfacesRemoved', 'oas'),
  /** Why a connection has ended, as a name and for people; missing in older versions, such as 5.66. */
  disconnected: signalRow(DEVICE_INTERFACE, 'Disconnected', 'ss'),
} as const;

/** The reasons of `disconnected` for a connection that somebody here or at the device has ended. */
export const INTENDED: readonly string[] = ['org.bluez.Reason.Local', 'org.bluez.Reason.Remote'];

export const BLUEZ_ERRORS = {
  alreadyExists: 'org.bluez.Error.AlreadyExists',
  alreadyConnected: 'org.bluez.Error.AlreadyConnected',
  notConnected: 'org.bluez.Error.NotConnected',
  doesNotExist: 'org.bluez.Error.DoesNotExist',
  inProgress: 'org.bluez.Error.InProgress',
  blocked: 'org.bluez.Error.Blocked',
  busy: 'org.bluez.Error.Busy',
  rejected: 'org.bluez.Error.Rejected',
  unknownObject: 'org.freedesktop.DBus.Error.UnknownObject',
  /** Older versions answer so for an object that is gone. */
  unknownMethod: 'org.freedesktop.DBus.Error.UnknownMethod',
} as const;

/** `PowerState` is missing before BlueZ 5.66. */
export const ADAPTER_PROPERTIES = {
  Address: 's',
  Alias: 's',
  Powered: 'b',
  PowerState: 's',
  Discoverable: 'b',
  Pairable: 'b',
  Discovering: 'b',
} as const satisfies PropertyTable;

/** The value of `PowerState` for an adapter that rfkill holds. */
export const POWER_BLOCKED = 'off-blocked';

/**
 * `Adapter` is a path. `RSSI` is there while the device is found by a scan. `Bonded` is missing before BlueZ
 * 5.66.
 */
export const DEVICE_PROPERTIES = {
  Adapter: 's',
  Address: 's',
  Alias: 's',
  Icon: 's',
  Paired: 'b',
  Bonded: 'b',
  Trusted: 'b',
  Connected: 'b',
  RSSI: 'n',
  UUIDs: 'as',
} as const satisfies PropertyTable;

export const BATTERY_PROPERTIES = { Percentage: 'y' } as const satisfies PropertyTable;

export const AGENT_INTERFACE = 'org.bluez.Agent1';
/** Neither keys nor a display: pairings that would need one are made without, or not at all. */
export const AGENT_CAPABILITY = 'NoInputNoOutput';

/**
 * BlueZ's calls to an agent: each begins with the device's path, but for the last two; the other value of
 * `authorizeService` is its UUID.
 */
export const AGENT_CALLS = {
  requestConfirmation: signalRow(AGENT_INTERFACE, 'RequestConfirmation', 'ou'),
  requestAuthorization: signalRow(AGENT_INTERFACE, 'RequestAuthorization', 'o'),
  authorizeService: signalRow(AGENT_INTERFACE, 'AuthorizeService', 'os'),
  cancel: signalRow(AGENT_INTERFACE, 'Cancel', ''),
  release: signalRow(AGENT_INTERFACE, 'Release', ''),
} as const;

/** The 16 bits in which the services of Bluetooth's own list differ (Assigned Numbers, "Service Class"). */
const LISTED_UUID = /^0000([0-9a-f]{4})-0000-1000-8000-00805f9b34fb$/;

const isOneOf =
  (...services: readonly string[]) =>
  (uuid: string): boolean =>
    services.includes(LISTED_UUID.exec(uuid.toLowerCase())?.[1] ?? '');

/**
 * Sound and its remote control: A2DP source, sink and A2DP, AVRCP, headset and hands-free with their
 * gateways.
 */
export const isSoundService = isOneOf(
  '110a',
  '110b',
  '110d',
  '110c',
  '110e',
  '110f',
  '1108',
  '1112',
  '1131',
  '111e',
  '111f',
);

/** Receivers of sound that others send: A2DP sink, headset, hands-free. */
export const isPlayingService = isOneOf('110b', '1108', '111e');

/** Keyboards and the like, classic and of low energy. */
export const isInputService = isOneOf('1124', '1812');
