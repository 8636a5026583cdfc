// Table of the methods and signals in use of the bus itself (org.freedesktop.DBus) and of the standard
// properties interface; and what reads known properties from an `a{sv}` whose values have lost their types.
// Pure.

import { type Effect, type Match, type Method, methodsOf, signalRow, type VariantValue } from './method.js';
import type { Values } from './signatures.js';

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

/** Interface and property -> its value; called on the path of the object. */
export function getProperty(destination: string) {
  return methodsOf(destination, undefined, PROPERTIES_INTERFACE)('Get', ['ss', 'v'], 'none');
}

/** Interface, property, value; called on the path of the object. */
export function setProperty<const E extends Effect>(
  destination: string,
  effect: E,
): Method<readonly [string, string, VariantValue], undefined, E> {
  return { destination, interface: PROPERTIES_INTERFACE, member: 'Set', in: 'ssv', out: '', effect };
}

export const OWNER_CHANGES: Match = { sender: BUS_NAME, interface: BUS_NAME, member: 'NameOwnerChanged' };

/** Properties by name, of any type, from a reading or a signal. */
export type PropertyRecord = Readonly<Record<string, unknown>>;

/** Property -> signature. Only signatures whose values can be checked at run time. */
export type PropertyTable = Readonly<Record<string, keyof typeof CHECKS>>;

const isInteger = (value: unknown): boolean => Number.isSafeInteger(value);

const CHECKS = {
  s: (value: unknown): boolean => typeof value === 'string',
  b: (value: unknown): boolean => typeof value === 'boolean',
  u: isInteger,
  y: isInteger,
  n: isInteger,
  x: isInteger,
  // A bigint if a number would not be exact.
  t: (value: unknown): boolean => isInteger(value) || typeof value === 'bigint',
  // A whole number looks like an integer; JSON has neither NaN nor infinity.
  d: Number.isFinite,
  'a{sv}': (value: unknown): boolean =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array),
  as: (value: unknown): boolean => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  ay: (value: unknown): boolean => value instanceof Uint8Array,
  '(uo)': (value: unknown): boolean =>
    Array.isArray(value) && value.length === 2 && isInteger(value[0]) && typeof value[1] === 'string',
} as const;

/** The values of a table's properties, each of its type. */
export type PropertyValues<T extends PropertyTable> = {
  readonly [P in keyof T]?: Values<T[P]>[0];
};

/** The record's values of the table's properties. Missing ones and ones of a wrong type are left out. */
export function readProperties<const T extends PropertyTable>(
  table: T,
  record: PropertyRecord,
): PropertyValues<T> {
  const known = Object.entries(table).filter(
    ([name, signature]) => Object.hasOwn(record, name) && CHECKS[signature](record[name]),
  );
  return Object.fromEntries(known.map(([name]) => [name, record[name]])) as PropertyValues<T>;
}
