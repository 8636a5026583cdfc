// Counts the edits that turn one word into another, to find the known word for a mistyped one. Pure.

/** Levenshtein's distance. Upper and lower case are the same. */
export function editDistance(one: string, other: string): number {
  const otherLetters = [...other.toLowerCase()];
  // A row of Levenshtein's table. Column N has the number of edits that turn the beginning of `one` into the
  // first N letters of `other`. At first this beginning is empty. Each round of the loop adds one letter to
  // it.
  let row = Array.from({ length: otherLetters.length + 1 }, (_, column) => column);
  for (const letter of one.toLowerCase()) {
    const nextRow = [editsAt(row, 0) + 1];
    for (const [column, otherLetter] of otherLetters.entries()) {
      const editsIfReplaced = editsAt(row, column) + (letter === otherLetter ? 0 : 1);
      const editsIfRemoved = editsAt(row, column + 1) + 1;
      const editsIfAdded = editsAt(nextRow, column) + 1;
      nextRow.push(Math.min(editsIfReplaced, editsIfRemoved, editsIfAdded));
    }
    row = nextRow;
  }
  return editsAt(row, otherLetters.length);
}

/** Every column that is read exists. The default is only for the type. */
function editsAt(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
