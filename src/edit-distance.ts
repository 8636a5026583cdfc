// Counts how many edits a mistyped word is away from a known word. Pure.

/** The number of edits that turn one word into the other (Levenshtein). Upper and lower case are the same. */
export function editDistance(one: string, other: string): number {
  const otherLetters = [...other.toLowerCase()];
  // One row of Levenshtein's table: how many edits turn the first letters of `one` into the first 0, 1, 2
  // and more letters of `other`.
  let row = Array.from({ length: otherLetters.length + 1 }, (_, column) => column);
  for (const letter of one.toLowerCase()) {
    const nextRow = [editsAt(row, 0) + 1];
    for (const [column, otherLetter] of otherLetters.entries()) {
      const replaced = editsAt(row, column) + (letter === otherLetter ? 0 : 1);
      const removed = editsAt(row, column + 1) + 1;
      const added = editsAt(nextRow, column) + 1;
      nextRow.push(Math.min(replaced, removed, added));
    }
    row = nextRow;
  }
  return editsAt(row, otherLetters.length);
}

function editsAt(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
