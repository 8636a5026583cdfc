// Converts the arguments of our calls into dbus-next's form, and the values of received messages into ours.

import { Variant } from 'dbus-next';
import type { VariantValue } from '../../protocol/dbus/method.js';
import { withoutPrototype } from '../text.js';

/**
 * The argument of a call in dbus-next's form, in which each variant is a `Variant`. Lists stay as they are,
 * because no call has a variant in a list.
 */
export function asArgument(value: unknown): unknown {
  const isList = Array.isArray(value) || value instanceof Uint8Array;
  if (typeof value !== 'object' || value === null || isList) return value;
  if (!('variant' in value))
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, asArgument(inner)]));
  const { variant: signature, value: content } = value as VariantValue;
  return new Variant(signature, content);
}

/**
 * A received value in our form. A variant becomes its value. An array of bytes becomes a Uint8Array with
 * memory of its own. A dictionary becomes an object without a prototype. An integer stays a bigint if a
 * number would not be exact. The caller must not put such a bigint into a record, because JSON.stringify
 * throws at it. The recursion ends, because the bus bounds the depth to 64 levels.
 */
export function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(plainValue);
  // A dictionary with the key `__proto__` may have a Variant or a Buffer as its prototype (see
  // `dictionaryEntries`). So `instanceof Variant` or `instanceof Buffer` could be true for a dictionary.
  if (isVariant(value)) return plainValue(value.value);
  // A copy is made, because a slice would keep the whole message in memory.
  if (ArrayBuffer.isView(value)) return Uint8Array.from(value as Uint8Array);
  return withoutPrototype(dictionaryEntries(value).map(([key, inner]) => [key, plainValue(inner)]));
}

function isVariant(value: object): value is Variant {
  return Object.getPrototypeOf(value) === Variant.prototype;
}

/**
 * The entries of a dictionary, which may have the key `__proto__`. dbus-next assigns all keys to an object,
 * so the value of `__proto__` has become the prototype. If this value is no object, dbus-next has lost it.
 */
function dictionaryEntries(dictionary: object): [string, unknown][] {
  const prototype: unknown = Object.getPrototypeOf(dictionary);
  const entries = Object.entries(dictionary);
  return prototype === Object.prototype ? entries : [...entries, ['__proto__', prototype]];
}
