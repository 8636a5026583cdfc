// Lists the methods, signals, properties and errors of BlueZ (org.bluez) that the daemon uses, and BlueZ's
// calls to our agent. The agent is an object of the daemon: BlueZ asks it about pairings. Also recognizes
// kinds of services by their UUIDs. Pure. Reference: BlueZ's doc/org.bluez.Adapter.rst, .Device.rst,
// .Agent.rst, .AgentManager.rst.

import type { PropertyTable } from './daemon.js';
import { setProperty } from './daemon.js';
import { methodsOf, signalRow } from './method.js';

export const BLUEZ_NAME = 'org.bluez';
/** The paths of BlueZ's objects begin with this one. Only the ObjectManager has the path `/`. */
export const BLUEZ_PATH = '/org/bluez';
export const ADAPTER_INTERFACE = 'org.bluez.Adapter1';
export const DEVICE_INTERFACE = 'org.bluez.Device1';
export const BATTERY_INTERFACE = 'org.bluez.Battery1';
const OBJECT_MANAGER = 'org.freedesktop.DBus.ObjectManager';

const managerMethod = methodsOf(BLUEZ_NAME, '/', OBJECT_MANAGER);
const agentManagerMethod = methodsOf(BLUEZ_NAME, BLUEZ_PATH, 'org.bluez.AgentManager1');
/** Makes the rows of methods that are called on the path of an adapter. */
const adapterMethod = methodsOf(BLUEZ_NAME, undefined, ADAPTER_INTERFACE);
/** Makes the rows of methods that are called on the path of a device. */
const deviceMethod = methodsOf(BLUEZ_NAME, undefined, DEVICE_INTERFACE);

/**
 * `methodsOf` (method.ts) explains the form of a row. Comments name the arguments. An arrow (`->`) stands
 * before the reply.
 */
export const BLUEZ_METHODS = {
  /** -> the properties of every object, by path and interface. */
  getManagedObjects: managerMethod('GetManagedObjects', ['', 'a{oa{sa{sv}}}'], 'none'),
  /** The path of our agent, and then `AGENT_CAPABILITY`. */
  registerAgent: agentManagerMethod('RegisterAgent', ['os', ''], 'bluetooth'),
  /** The path of our agent. BlueZ then asks this agent about the pairings that a device begins. */
  requestDefaultAgent: agentManagerMethod('RequestDefaultAgent', ['o', ''], 'bluetooth'),
  unregisterAgent: agentManagerMethod('UnregisterAgent', ['o', ''], 'bluetooth'),
  /**
   * The filter, as a dictionary. BlueZ's word for a scan is discovery. Our filter and our scan belong to our
   * connection to the bus. Other programs may have a filter and a scan of their own.
   */
  setDiscoveryFilter: adapterMethod('SetDiscoveryFilter', ['a{sv}', ''], 'bluetooth'),
  startDiscovery: adapterMethod('StartDiscovery', ['', ''], 'bluetooth'),
  stopDiscovery: adapterMethod('StopDiscovery', ['', ''], 'bluetooth'),
  /** A device's path. BlueZ also forgets the keys of the pairing. */
  removeDevice: adapterMethod('RemoveDevice', ['o', ''], 'bluetooth'),
  connect: deviceMethod('Connect', ['', ''], 'bluetooth'),
  /** The call also ends a `Connect` that is under way. */
  disconnect: deviceMethod('Disconnect', ['', ''], 'bluetooth'),
  pair: deviceMethod('Pair', ['', ''], 'bluetooth'),
  set: setProperty(BLUEZ_NAME, 'bluetooth'),
} as const;

export const BLUEZ_SIGNALS = {
  /** Path, properties by interface. */
  added: signalRow(OBJECT_MANAGER, 'InterfacesAdded', 'oa{sa{sv}}'),
  /** Path, interfaces. */
  removed: signalRow(OBJECT_MANAGER, 'InterfacesRemoved', 'oas'),
  /**
   * The name of the reason why a connection has ended, and a text about the reason. BlueZ 5.66, for
   * instance, does not have this signal yet.
   */
  disconnected: signalRow(DEVICE_INTERFACE, 'Disconnected', 'ss'),
} as const;

/** The reason in `disconnected` for a connection that a program on the node has ended. */
const LOCAL_REASON = 'org.bluez.Reason.Local';

/** The reasons in `disconnected` for a connection that somebody has ended, on the node or on the device. */
export const INTENDED_REASONS: readonly string[] = [LOCAL_REASON, 'org.bluez.Reason.Remote'];

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
  /** The answer of older versions of BlueZ in place of `unknownObject`. */
  unknownMethod: 'org.freedesktop.DBus.Error.UnknownMethod',
} as const;

/**
 * `PowerState` is missing before BlueZ 5.66. `UUIDs` are the adapter's services. Some of these services come
 * from programs on the node, such as the sound server.
 */
export const ADAPTER_PROPERTIES = {
  Address: 's',
  Alias: 's',
  Powered: 'b',
  PowerState: 's',
  Discoverable: 'b',
  Pairable: 'b',
  Discovering: 'b',
  UUIDs: 'as',
} as const satisfies PropertyTable;

/** The value of `PowerState` for an adapter that rfkill has blocked. */
export const POWER_BLOCKED = 'off-blocked';

/** `Adapter` is a path. `RSSI` exists only while a scan finds the device. `Bonded` is new in BlueZ 5.66. */
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
/**
 * This value tells BlueZ that the node has neither a keyboard nor a display. A pairing that would normally
 * use one of the two is made without it, or fails.
 */
export const AGENT_CAPABILITY = 'NoInputNoOutput';

/**
 * BlueZ's calls to our agent. `signalRow` makes their rows, because a received call has the form of a signal
 * (`Signal` in method.ts). The first value is the device's path. The second value is a number (`u`) that
 * people compare on the node and on the device, or the UUID of a service (`s`). Some calls have only one
 * value, or none.
 */
export const AGENT_CALLS = {
  requestConfirmation: signalRow(AGENT_INTERFACE, 'RequestConfirmation', 'ou'),
  requestAuthorization: signalRow(AGENT_INTERFACE, 'RequestAuthorization', 'o'),
  authorizeService: signalRow(AGENT_INTERFACE, 'AuthorizeService', 'os'),
  cancel: signalRow(AGENT_INTERFACE, 'Cancel', ''),
  release: signalRow(AGENT_INTERFACE, 'Release', ''),
} as const;

/**
 * Matches the UUID of a service in the Bluetooth standard (Assigned Numbers, "Service Class"). These UUIDs
 * differ only in four hexadecimal digits, such as `110b`. The parentheses capture these digits.
 */
const STANDARD_UUID = /^0000([0-9a-f]{4})-0000-1000-8000-00805f9b34fb$/;

/** Returns a function that tests whether a UUID has the four digits of one of `services`. */
const uuidTestFor =
  (...services: readonly string[]) =>
  (uuid: string): boolean =>
    services.includes(STANDARD_UUID.exec(uuid.toLowerCase())?.[1] ?? '');

const A2DP_SOURCE = '110a';
const A2DP_SINK = '110b';
const A2DP = '110d';
const AVRCP_TARGET = '110c';
const AVRCP = '110e';
const AVRCP_CONTROLLER = '110f';
const HEADSET = '1108';
const HEADSET_GATEWAY = '1112';
const HEADSET_HS = '1131';
const HANDS_FREE = '111e';
const HANDS_FREE_GATEWAY = '111f';
const HUMAN_INTERFACE = '1124';
const HUMAN_INTERFACE_LOW_ENERGY = '1812';

/** True for a service that carries sound, or that controls players remotely. */
export const isSoundService = uuidTestFor(
  A2DP_SOURCE,
  A2DP_SINK,
  A2DP,
  AVRCP_TARGET,
  AVRCP,
  AVRCP_CONTROLLER,
  HEADSET,
  HEADSET_GATEWAY,
  HEADSET_HS,
  HANDS_FREE,
  HANDS_FREE_GATEWAY,
);

/** True for a service of devices that play received sound, such as loudspeakers and headphones. */
export const isPlayingService = uuidTestFor(A2DP_SINK, HEADSET, HEADSET_HS, HANDS_FREE);

/** True for a service that an adapter has only while a sound server uses the adapter. */
export const isSoundServerService = uuidTestFor(A2DP_SOURCE, A2DP_SINK);

/** True for a service of keyboards, mice and remote controls. */
export const isInputService = uuidTestFor(HUMAN_INTERFACE, HUMAN_INTERFACE_LOW_ENERGY);
