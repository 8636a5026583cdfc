// Lists methods and signals of the bus itself (org.freedesktop.DBus), and methods and signals for the
// properties of any object (org.freedesktop.DBus.Properties). Checks received properties. Pure.

import { type Effect, type Match, type Method, methodsOf, signalRow, type VariantValue } from './method.js';
import type { Values } from './signatures.js';

export const BUS_NAME = 'org.freedesktop.DBus';

const busMethod = methodsOf(BUS_NAME, '/org/freedesktop/DBus', BUS_NAME);

/**
 * `methodsOf` (method.ts) explains the form of a row. Comments name the arguments. An arrow (`->`) stands
 * before the reply.
 */
export const BUS_METHODS = {
  /** A match rule (`matchRule` in method.ts). */
  addMatch: busMethod('AddMatch', ['s', ''], 'none'),
  removeMatch: busMethod('RemoveMatch', ['s', ''], 'none'),
  /** Well-known name -> the unique name of its owner. The call starts no service. */
  getNameOwner: busMethod('GetNameOwner', ['s', 's'], 'none'),
  /** -> all names that have an owner now. */
  listNames: busMethod('ListNames', ['', 'as'], 'none'),
  getConnectionUnixProcessID: busMethod('GetConnectionUnixProcessID', ['s', 'u'], 'none'),
} as const;

const PROPERTIES_INTERFACE = 'org.freedesktop.DBus.Properties';

/** Name, old owner, new owner. An owner is a unique name, or '' if the name has no owner. */
export const NAME_OWNER_CHANGED = signalRow(BUS_NAME, 'NameOwnerChanged', 'sss');

/** Interface, changed properties, names of invalidated properties. */
export const PROPERTIES_CHANGED = signalRow(PROPERTIES_INTERFACE, 'PropertiesChanged', 'sa{sv}as');

/**
 * The row of `GetAll`: interface -> the properties of the interface, or of all interfaces if the argument is
 * ''. The method is called on the path of an object.
 */
export function getAll(destination: string) {
  return methodsOf(destination, undefined, PROPERTIES_INTERFACE)('GetAll', ['s', 'a{sv}'], 'none');
}

/** The row of `Get`: interface, property -> the value. The method is called on the path of an object. */
export function getProperty(destination: string) {
  return methodsOf(destination, undefined, PROPERTIES_INTERFACE)('Get', ['ss', 'v'], 'none');
}

/**
 * The row of `Set`: interface, property, value. The method is called on the path of an object. `methodsOf`
 * does not make this row, because the type of the value would then be `unknown`.
 */
export function setProperty<const E extends Effect>(
  destination: string,
  effect: E,
): Method<readonly [string, string, VariantValue], undefined, E> {
  return { destination, interface: PROPERTIES_INTERFACE, member: 'Set', in: 'ssv', out: '', effect };
}

/** Selects the signals by which the bus reports that names change their owners. */
export const OWNER_CHANGES_MATCH: Match = {
  sender: BUS_NAME,
  interface: BUS_NAME,
  member: 'NameOwnerChanged',
};

/** Properties by name, as a service has sent them. Their values may be of any type. */
export type PropertyRecord = Readonly<Record<string, unknown>>;

/**
 * The expected signature of each property: a key of `CHECKS`. A received path (`o`) is a string, so a
 * property that is a path has `s` here, and a list of paths has `as`.
 */
export type PropertyTable = Readonly<Record<string, keyof typeof CHECKS>>;

const isInteger = (value: unknown): boolean => Number.isSafeInteger(value);

const CHECKS = {
  s: (value: unknown): boolean => typeof value === 'string',
  b: (value: unknown): boolean => typeof value === 'boolean',
  u: isInteger,
  y: isInteger,
  n: isInteger,
  // A received value of `x` or `t` is a bigint if a number would not be exact (actors/bus/values.ts). The
  // check of `x` refuses a bigint, because the only `x` is a player's position, which a record has as a JSON
  // number. The check of `t` accepts a bigint, because each `t` is a time of systemd, and records have such
  // times only as texts.
  x: isInteger,
  t: (value: unknown): boolean => isInteger(value) || typeof value === 'bigint',
  // NaN and infinity are refused, because JSON lacks them. An integer is valid, too: the received value does
  // not show whether the service has sent it as a `d`.
  d: Number.isFinite,
  // A dictionary is received as an object. Arrays, and the bytes of `ay`, are objects for `typeof`, too.
  'a{sv}': (value: unknown): boolean =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array),
  as: (value: unknown): boolean => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  ay: (value: unknown): boolean => value instanceof Uint8Array,
  '(uo)': (value: unknown): boolean =>
    Array.isArray(value) && value.length === 2 && isInteger(value[0]) && typeof value[1] === 'string',
} as const;

/**
 * The type of a table's properties: `{ Volume: 'd' }` makes `{ Volume?: number }`. `Values` is a list. For
 * the signature of a property, the list has only one value.
 */
export type PropertyValues<T extends PropertyTable> = {
  readonly [P in keyof T]?: Values<T[P]>[0];
};

/** The values that `received` has for the properties of `table`. Values of a wrong type are left out. */
export function readProperties<const T extends PropertyTable>(
  table: T,
  received: PropertyRecord,
): PropertyValues<T> {
  const validRows = Object.entries(table).filter(
    ([name, signature]) => Object.hasOwn(received, name) && CHECKS[signature](received[name]),
  );
  // The types do not show that each value has passed the check of its own signature.
  return Object.fromEntries(validRows.map(([name]) => [name, received[name]])) as PropertyValues<T>;
}
