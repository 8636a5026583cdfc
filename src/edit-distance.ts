// How far a mistyped word is from a known one. Pure.

/** Case-insensitive number of edits between two words (Levenshtein). */
export function editDistance(one: string, other: string): number {
  const [a, b] = [one, other].map((word) => [...word.toLowerCase()]);
  const far = Number.POSITIVE_INFINITY;
  let last = [...(b ?? []), ''].map((_, column) => column);
  for (const [row, letter] of (a ?? []).entries()) {
    const current = [row + 1];
    for (const [column, opposite] of (b ?? []).entries()) {
      const replaced = (last[column] ?? far) + (letter === opposite ? 0 : 1);
      current.push(Math.min(replaced, (last[column + 1] ?? far) + 1, (current[column] ?? far) + 1));
    }
    last = current;
  }
  return last.at(-1) ?? 0;
}
