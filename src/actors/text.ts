// Decodes and parses texts that come from outside, and bounds the JSON of a list. Pure.

/**
 * Returns the bytes of an ASCII text. Each `%XX` becomes the byte that it stands for. A `%` without two
 * hexadecimal digits stays as it is.
 */
export function percentDecoded(text: string): Buffer {
  const oneCharacterPerByte = text.replace(/%([0-9a-f]{2})/gi, (_escape: string, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(oneCharacterPerByte, 'latin1');
}

/** The text with each `%XX` decoded; undefined if a `%XX` is broken, or if the bytes are not UTF-8. */
export function percentDecodedText(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The members of a JSON object, or the items of a JSON array by their index; undefined for other texts. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null;
    return isObject ? withoutPrototype(Object.entries(value)) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * An object of these entries. Their keys may come from outside, so the object has no prototype: `__proto__`
 * and `constructor` are keys like any other.
 */
export function withoutPrototype<T>(entries: Iterable<readonly [key: string, value: T]>): Record<string, T> {
  const object: Record<string, T> = Object.create(null);
  for (const [key, value] of entries) object[key] = value;
  return object;
}

/**
 * Keeps the first items, up to `maxBytes` of JSON in total. Of the later items, only the needed ones are
 * kept, even if the total is then more than `maxBytes`.
 */
export function firstWithin<T>(items: readonly T[], maxBytes: number, isNeeded: (item: T) => boolean): T[] {
  let bytesSoFar = 0;
  return items.filter((item) => {
    const textAndComma = `${JSON.stringify(item)},`;
    bytesSoFar += Buffer.byteLength(textAndComma);
    return bytesSoFar <= maxBytes || isNeeded(item);
  });
}
