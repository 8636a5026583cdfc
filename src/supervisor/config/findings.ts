// Problems and warnings about the configuration, with their places in the files, and the known key that is nearest to an unknown one.
// Pure; prints nothing.

/** A place in a file; line and column count from 1, the column in UTF-16 units. */
export interface Location {
  readonly file: string;
  readonly line: number;
  readonly col: number;
}

interface Finding {
  readonly at: Location;
  readonly key: string;
  readonly text: string;
}

/** Limit for text from a file in a message. */
const MAX_SHOWN_CHARS = 60;

/** Limit for the comparison of keys: no known key is longer, and the work stays bounded. */
const MAX_COMPARED_CHARS = 32;

/** A key in another section is less likely meant than a key of the same section with one more typing error. */
const OTHER_SECTION_PENALTY = 1;

// A message is one line of a terminal or of the journal: text from a file must not break or colour it.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** `text` on one line; unprintable characters become `\u{HEX}`. */
export function onOneLine(text: string): string {
  return text.replace(UNPRINTABLE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Name and password in a URL (RFC 3986, section 3.2.1), which must not get into the journal. */
const USER_INFORMATION = /\/\/\S*@/g;

/** `text` in quotes, on one line, shortened, without passwords. */
export function quoted(text: string): string {
  const shown = text.replace(USER_INFORMATION, '//...@');
  const cut = shown.length > MAX_SHOWN_CHARS ? `${shown.slice(0, MAX_SHOWN_CHARS)}...` : shown;
  return onOneLine(JSON.stringify(cut));
}

/** The path of a key in `parent` ('' at the top). */
export function keyPath(parent: string, name: string): string {
  const shown = /^[\w-]+$/.test(name) && name.length <= MAX_SHOWN_CHARS ? name : quoted(name);
  return parent === '' ? shown : `${parent}.${shown}`;
}

/** Describes a value for a message: `the text "abc"`, `8018`, `a list`. */
export function describe(value: unknown): string {
  if (value === null) return 'nothing';
  if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'a map';
  return typeof value === 'string' ? `the text ${quoted(value)}` : String(value);
}

/** Collects problems and warnings. `key` is the dotted path as it is written in the file. */
export class Findings {
  readonly #problems: Finding[] = [];
  readonly #warnings: Finding[] = [];

  problem(at: Location, key: string, text: string): void {
    this.#problems.push({ at, key, text });
  }

  warning(at: Location, key: string, text: string): void {
    this.#warnings.push({ at, key, text });
  }

  get failed(): boolean {
    return this.#problems.length > 0;
  }

  /**
   * Lines `FILE:LINE:COL: key: what is wrong` (docs/configuration.md, "What is refused"), in the order of `files`, then by line and column.
   */
  problems(files: readonly string[]): string[] {
    return linesOf(this.#problems, files);
  }
  warnings(files: readonly string[]): string[] {
    return linesOf(this.#warnings, files);
  }
}

function linesOf(findings: readonly Finding[], files: readonly string[]): string[] {
  const rank = new Map(files.map((file, index) => [file, index]));
  const order = (finding: Finding): number => rank.get(finding.at.file) ?? files.length;
  return [...findings]
    .sort((a, b) => order(a) - order(b) || a.at.line - b.at.line || a.at.col - b.at.col)
    .map(({ at, key, text }) => onOneLine(`${at.file}:${at.line}:${at.col}: ${key}: ${text}`));
}

/** Case-insensitive number of edits between two words: insert, delete, replace, or swap two neighbours (optimal string alignment). */
function editDistance(one: string, other: string): number {
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
 * The path in `known` whose last word is nearest to that of `path`. Among equals the one with more sections in common wins, then the
 * first. `known` must not be empty.
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
