// Table of the methods and signals in use of the bus itself (org.freedesktop.DBus) and of the standard properties interface. Data only.

import { type Effect, type Match, type Method, methodsOf, signalRow, type VariantValue } from './method.js';

export const BUS_NAME = 'org.freedesktop.DBus';

const busMethod = methodsOf(BUS_NAME, '/org/freedesktop/DBus', BUS_NAME);

export const BUS_METHODS = {
  addMatch: busMethod('AddMatch', ['s', ''], 'none'),
  removeMatch: busMethod('RemoveMatch', ['s', ''], 'none'),
  /** Well-known name -> its owner's unique name. Starts no service. */
  getNameOwner: busMethod('GetNameOwner', ['s', 's'], 'none'),
  /** All names that have an owner now. */
  listNames: busMethod('ListNames', ['', 'as'], 'none'),
  getConnectionUnixProcessID: busMethod('GetConnectionUnixProcessID', ['s', 'u'], 'none'),
} as const;

const PROPERTIES_INTERFACE = 'org.freedesktop.DBus.Properties';

/** Name, old owner, new owner; '' means no owner. */
export const NAME_OWNER_CHANGED = signalRow(BUS_NAME, 'NameOwnerChanged', 'sss');

/** Interface, changed properties, names of invalidated properties. */
export const PROPERTIES_CHANGED = signalRow(PROPERTIES_INTERFACE, 'PropertiesChanged', 'sa{sv}as');

/** The properties of one object of a service; `''` for the interface means all of them. */
export function getAll(destination: string) {
  return methodsOf(destination, undefined, PROPERTIES_INTERFACE)('GetAll', ['s', 'a{sv}'], 'none');
}

/** Interface, property, value; called on the path of the object. */
export function setProperty<const E extends Effect>(
  destination: string,
  effect: E,
): Method<readonly [string, string, VariantValue], undefined, E> {
  return { destination, interface: PROPERTIES_INTERFACE, member: 'Set', in: 'ssv', out: '', effect };
}

export function ownerMatch(name: string): Match {
  return { sender: BUS_NAME, interface: BUS_NAME, member: 'NameOwnerChanged', arg0: name };
}
