// The bus itself (org.freedesktop.DBus) and the standard interface of properties: what is used of them. Data only.

import { type Match, type Method, type MethodReply, methodsOf, signalRow, type Values } from './method.js';

export const BUS_NAME = 'org.freedesktop.DBus';

const busMethod = methodsOf(BUS_NAME, '/org/freedesktop/DBus', BUS_NAME);

export const BUS_METHODS = {
  addMatch: busMethod('AddMatch', ['s', ''], 'none'),
  getNameOwner: busMethod('GetNameOwner', ['s', 's'], 'none'),
} as const;

const PROPERTIES_INTERFACE = 'org.freedesktop.DBus.Properties';

/** Name, old owner, new owner; an empty owner is none. */
export const NAME_OWNER_CHANGED = signalRow(BUS_NAME, 'NameOwnerChanged', 'sss');

/** Interface, changed properties, names of invalidated properties. */
export const PROPERTIES_CHANGED = signalRow(PROPERTIES_INTERFACE, 'PropertiesChanged', 'sa{sv}as');

/** The properties of one object of a service; `''` for the interface means all of them. */
export function getAll(destination: string): Method<Values<'s'>, MethodReply<'a{sv}'>, 'none'> {
  return {
    destination,
    interface: PROPERTIES_INTERFACE,
    member: 'GetAll',
    in: 's',
    out: 'a{sv}',
    effect: 'none',
  };
}

export function ownerMatch(name: string): Match {
  return { sender: BUS_NAME, interface: BUS_NAME, member: 'NameOwnerChanged', arg0: name };
}
