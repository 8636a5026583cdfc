// Which known key someone most likely meant. Pure.

/** Longest piece of a key that is compared: no known key is longer, and the work is bounded. */
const MAX_COMPARED_CHARS = 32;

/** A key of the same name in another section is less likely than a slip of this size. */
const OTHER_SECTION_PENALTY = 1;

/** Edits between two words, upper and lower case alike: insert, delete, replace, or swap two neighbours (optimal string alignment). */
export function editDistance(one: string, other: string): number {
  const a = one.slice(0, MAX_COMPARED_CHARS).toLowerCase();
  const b = other.slice(0, MAX_COMPARED_CHARS).toLowerCase();
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = at(last, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1);
      let least = Math.min(replaced, at(last, column) + 1, at(current, column - 1) + 1);
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) least = Math.min(least, at(beforeLast, column - 2) + 1);
      current.push(least);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}

/**
 * The path in `known` whose last word is nearest to that of `path`. Of equals the one that shares more of the way
 * wins, then the earlier. `known` must not be empty.
 */
export function nearestKey(path: readonly string[], known: readonly string[]): string {
  let best = '';
  let bestRank: readonly [number, number] = [Number.POSITIVE_INFINITY, 0];
  for (const candidate of known) {
    const other = candidate.split('.');
    const shared = sharedSections(path, other);
    const sameSection = shared === path.length - 1 && other.length === path.length;
    const edits = editDistance(path.at(-1) ?? '', other.at(-1) ?? '');
    const distance = edits + (sameSection ? 0 : OTHER_SECTION_PENALTY);
    if (distance < bestRank[0] || (distance === bestRank[0] && shared > bestRank[1])) {
      best = candidate;
      bestRank = [distance, shared];
    }
  }
  return best;
}

function sharedSections(path: readonly string[], other: readonly string[]): number {
  const sections = path.slice(0, -1);
  const differs = sections.findIndex((section, index) => section !== other[index]);
  return differs < 0 ? sections.length : differs;
}
