// What configuration has to say about itself: problems and warnings with the place that they came from. Pure; prints nothing.

/** A position in a file; line and column count from 1, the column in UTF-16 units. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly col: number;
}

interface Finding {
  readonly at: Place;
  readonly key: string;
  readonly text: string;
}

/** Longest piece of a foreign text that is repeated in a message. */
const MAX_SHOWN_CHARS = 60;

// A message is one line of a terminal or of the journal: nothing from a file may break it or colour it.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** `text` on one line, with anything unprintable as `\u{HEX}`. */
export function onOneLine(text: string): string {
  return text.replace(UNPRINTABLE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** `text` in quotes, on one line, cut when long. */
export function quoted(text: string): string {
  const cut = text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}...` : text;
  return onOneLine(JSON.stringify(cut));
}

/** The path of a key below `parent` ('' for the top). */
export function keyPath(parent: string, name: string): string {
  const shown = /^[\w-]+$/.test(name) && name.length <= MAX_SHOWN_CHARS ? name : quoted(name);
  return parent === '' ? shown : `${parent}.${shown}`;
}

/** Collects what is found. `key` is the dotted path as the administrator spelled it. */
export class Findings {
  readonly #problems: Finding[] = [];
  readonly #warnings: Finding[] = [];

  problem(at: Place, key: string, text: string): void {
    this.#problems.push({ at, key, text });
  }

  warning(at: Place, key: string, text: string): void {
    this.#warnings.push({ at, key, text });
  }

  get failed(): boolean {
    return this.#problems.length > 0;
  }

  /** Lines `FILE:LINE:COL: key: what is wrong` (contract, section 1), in the order of `files` and of the text in each. */
  problems(files: readonly string[]): string[] {
    return linesOf(this.#problems, files);
  }

  /** As `problems`. */
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
