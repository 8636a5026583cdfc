// A value from the configuration's files, with its place and its key there. Pure.

/** A place in a file; line and column count from 1, the column in UTF-16 units. */
export interface Location {
  readonly file: string;
  readonly line: number;
  readonly col: number;
}

export type Content = string | number | boolean | null | Given[] | Map<string, Given>;

export interface Given {
  /** Its dotted path as it is written in the file; '' at the top. */
  readonly key: string;
  readonly keyAt: Location;
  readonly at: Location;
  readonly content: Content;
}

/**
 * A value laid over a lower file's (docs/configuration.md, "Where files are looked for"): maps are merged by name, any other value
 * replaces the lower one, but an empty value removes nothing from a map or a list.
 */
export function laidOver(above: Given, below: Given | undefined): Given {
  const lower = below?.content ?? null;
  if (below === undefined || typeof lower !== 'object' || lower === null) return above;
  const upper = above.content;
  if (upper === null) return below;
  if (!(upper instanceof Map && lower instanceof Map)) return above;
  const merged = new Map(lower);
  for (const [name, inner] of upper) merged.set(name, laidOver(inner, lower.get(name)));
  return { ...above, content: merged };
}
