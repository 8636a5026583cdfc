// Turns the values that dbus-next decoded into plain ones: no Variant, no Buffer, no bigint where a number is exact. Pure.

import { Variant } from 'dbus-next';

/**
 * A variant is its value, `ay` a Uint8Array of its own, a dictionary a plain object with own properties only. An integer
 * stays a bigint where a number would not be exact: JSON.stringify refuses those, so they cannot slip out unnoticed.
 * The depth is bounded by the check of the bytes (bus-bytes.ts).
 */
export function plainValue(value: unknown): unknown {
  if (value instanceof Variant) return plainValue(value.value);
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }
  // A copy: a slice would keep the whole message alive.
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  if (Array.isArray(value)) return value.map(plainValue);
  if (typeof value === 'object' && value !== null) {
    // fromEntries defines properties: a key `__proto__` is a key like any other.
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plainValue(inner)]));
  }
  return value;
}
