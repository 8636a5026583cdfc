// Text from outside: cutting to a bound, percent-decoding, reading JSON, and objects with keys from outside,
// for all backends. Pure.

/** At most `max` UTF-16 units, without splitting a character in two. */
export function capped(text: string, max: number): string {
  if (text.length <= max) return text;
  return text.slice(0, max).replace(/[\uD800-\uDBFF]$/, '');
}

/** For people: at most `max` UTF-16 units, with an ellipsis if something was cut. */
export function clipped(text: string, max: number): string {
  return text.length <= max ? text : `${capped(text, max)}...`;
}

/** Decodes %XX to bytes; everything else stays as it is. */
export function percentDecoded(text: string): Buffer {
  const byte = (_: string, hex: string): string => String.fromCharCode(Number.parseInt(hex, 16));
  return Buffer.from(text.replace(/%([0-9a-f]{2})/gi, byte), 'latin1');
}

/** The text with %XX decoded; undefined if these are no valid UTF-8, or broken. */
export function percentText(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The members of a JSON object; undefined for a text that is none. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? withoutPrototype(Object.entries(value)) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * An object for keys from outside: without a prototype, `__proto__` and `constructor` are keys like any
 * other.
 */
export function withoutPrototype<T>(entries: Iterable<readonly [key: string, value: T]>): Record<string, T> {
  const object: Record<string, T> = Object.create(null);
  for (const [key, value] of entries) object[key] = value;
  return object;
}

/**
 * The first items whose JSON has at most `maxBytes` together, and the one that is needed wherever it stands.
 */
export function firstWithin<T>(items: readonly T[], maxBytes: number, isNeeded: (item: T) => boolean): T[] {
  let left = maxBytes;
  return items.filter((item) => {
    left -= Buffer.byteLength(JSON.stringify(item)) + 1;
    return left >= 0 || isNeeded(item);
  });
}
