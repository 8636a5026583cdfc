// Which methods, signals, properties and errors of BlueZ (org.bluez) are in use, and which calls BlueZ makes
// to our agent. Data only. Reference: BlueZ's doc/org.bluez.Adapter.rst, .Device.rst, .Agent.rst,
// .AgentManager.rst.

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
/** Called on an adapter's path. */
const adapterMethod = methodsOf(BLUEZ_NAME, undefined, ADAPTER_INTERFACE);
/** Called on a device's path. */
const deviceMethod = methodsOf(BLUEZ_NAME, undefined, DEVICE_INTERFACE);

/**
 * `methodsOf` (method.ts) explains the form of a row. Comments name the arguments, and the reply after `->`.
 */
export const BLUEZ_METHODS = {
  /** -> the properties of every object, by path and interface. */
  getManagedObjects: managerMethod('GetManagedObjects', ['', 'a{oa{sa{sv}}}'], 'none'),
  /** The path of our agent, and its `AGENT_CAPABILITY`. */
  registerAgent: agentManagerMethod('RegisterAgent', ['os', ''], 'bluetooth'),
  /** The path of our agent, which BlueZ then asks about pairings that others begin. */
  requestDefaultAgent: agentManagerMethod('RequestDefaultAgent', ['o', ''], 'bluetooth'),
  unregisterAgent: agentManagerMethod('UnregisterAgent', ['o', ''], 'bluetooth'),
  /** Filter and discovery belong to this connection to the bus. Other programs may have their own. */
  setDiscoveryFilter: adapterMethod('SetDiscoveryFilter', ['a{sv}', ''], 'bluetooth'),
  startDiscovery: adapterMethod('StartDiscovery', ['', ''], 'bluetooth'),
  stopDiscovery: adapterMethod('StopDiscovery', ['', ''], 'bluetooth'),
  /** A device's path. BlueZ also forgets the keys of the pairing. */
  removeDevice: adapterMethod('RemoveDevice', ['o', ''], 'bluetooth'),
  connect: deviceMethod('Connect', ['', ''], 'bluetooth'),
  /** Also ends a `Connect` that is under way. */
  disconnect: deviceMethod('Disconnect', ['', ''], 'bluetooth'),
  pair: deviceMethod('Pair', ['', ''], 'bluetooth'),
  set: setProperty(BLUEZ_NAME, 'bluetooth'),
} as const;

export const BLUEZ_SIGNALS = {
  /** Path, properties by interface. */
  added: signalRow(OBJECT_MANAGER, 'InterfacesAdded', 'oa{sa{sv}}'),
  /** Path, interfaces. */
  removed: signalRow(OBJECT_MANAGER, 'InterfacesRemoved', 'oas'),
  /** Why a connection has ended, as a name and as a text. Older versions, such as 5.66, lack this signal. */
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
  /** The answer of older versions for an object that is gone. */
  unknownMethod: 'org.freedesktop.DBus.Error.UnknownMethod',
} as const;

/**
 * `PowerState` is missing before BlueZ 5.66. `UUIDs` are the adapter's services. Programs on the node offer
 * them, for instance the sound server.
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

/** `Adapter` is a path. `RSSI` is only there while a scan finds the device. `Bonded` is new in BlueZ 5.66. */
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
 * The node has neither a keyboard nor a display. A pairing that would need them is made without them, or
 * fails.
 */
export const AGENT_CAPABILITY = 'NoInputNoOutput';

/**
 * BlueZ's calls to an agent. Their rows are those of signals, because a received call has the form of a
 * signal (`Signal` in method.ts). The first value, where there is one, is the device's path. The second one
 * is a number to compare, or the UUID of a service.
 */
export const AGENT_CALLS = {
  requestConfirmation: signalRow(AGENT_INTERFACE, 'RequestConfirmation', 'ou'),
  requestAuthorization: signalRow(AGENT_INTERFACE, 'RequestAuthorization', 'o'),
  authorizeService: signalRow(AGENT_INTERFACE, 'AuthorizeService', 'os'),
  cancel: signalRow(AGENT_INTERFACE, 'Cancel', ''),
  release: signalRow(AGENT_INTERFACE, 'Release', ''),
} as const;

/** A UUID of Bluetooth's own list: only 16 bits vary, such as `110b` (Assigned Numbers, "Service Class"). */
const LISTED_UUID = /^0000([0-9a-f]{4})-0000-1000-8000-00805f9b34fb$/;

/** Returns a function that returns true for the UUIDs of these services. */
const uuidTestFor =
  (...services: readonly string[]) =>
  (uuid: string): boolean =>
    services.includes(LISTED_UUID.exec(uuid.toLowerCase())?.[1] ?? '');

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

/** True for a service of sound, or of the remote control of players. */
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

/** True for a service of loudspeakers and headphones, which play the sound that others send. */
export const isPlayingService = uuidTestFor(A2DP_SINK, HEADSET, HANDS_FREE);

/** True for the services that exist on an adapter only while a sound server serves sound there. */
export const isSoundServerService = uuidTestFor(A2DP_SOURCE, A2DP_SINK);

/** True for a service of keyboards, mice and remote controls. */
export const isInputService = uuidTestFor(HUMAN_INTERFACE, HUMAN_INTERFACE_LOW_ENERGY);
