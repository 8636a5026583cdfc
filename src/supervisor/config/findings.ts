// Values of the configuration with their places in the files, problems and warnings about them, and the known
// key that is nearest to an unknown one. Pure; prints nothing.

import { editDistance } from '../../edit-distance.js';
import { printable } from '../../printable.js';

/** A place in a file; line and column count from 1, the column in UTF-16 units. */
export interface Location {
  readonly file: string;
  readonly line: number;
  readonly col: number;
}

export type Content = string | number | boolean | null | Entry[] | Map<string, Entry>;

export interface Entry {
  /** Its dotted path as it is written in the file; '' at the top. */
  readonly key: string;
  readonly keyAt: Location;
  readonly at: Location;
  readonly content: Content;
}

/** Limit for text from a file in a message. */
const MAX_QUOTED_CHARS = 60;

/** Added to the distance of a key in another section: people mistype a key more often than its section. */
const OTHER_SECTION_PENALTY = 1;

/** Name and password in a URL (RFC 3986, section 3.2.1), which must not get into the journal. */
const USER_INFORMATION = /\/\/\S*@/g;

/** `text` in quotes, on one line, shortened, without passwords. */
export function quoted(text: string): string {
  const masked = text.replace(USER_INFORMATION, '//...@');
  const cut = masked.length > MAX_QUOTED_CHARS ? `${masked.slice(0, MAX_QUOTED_CHARS)}...` : masked;
  return printable(JSON.stringify(cut));
}

/** The path of a key in `parent` ('' at the top). */
export function keyPath(parent: string, name: string): string {
  const written = /^[\w-]+$/.test(name) && name.length <= MAX_QUOTED_CHARS ? name : quoted(name);
  return parent === '' ? written : `${parent}.${written}`;
}

/** Describes a value for a message: `the text "abc"`, `8018`, `a list`. */
export function describe(content: Content): string {
  if (content === null) return 'nothing';
  if (typeof content === 'object') return Array.isArray(content) ? 'a list' : 'a map';
  return typeof content === 'string' ? `the text ${quoted(content)}` : String(content);
}

interface Finding {
  readonly at: Location;
  readonly line: string;
}

/**
 * Collects problems and warnings, as lines `FILE:LINE:COL: key: what is wrong` (docs/configuration.md, "What
 * is refused").
 */
export class Findings {
  readonly #files: readonly string[];
  readonly #problems: Finding[] = [];
  readonly #warnings: Finding[] = [];

  /** `files` is their order, by which the lines are sorted. */
  constructor(files: readonly string[]) {
    this.#files = files;
  }

  /** `key` is the dotted path as it is written in the file. */
  problem(at: Location, key: string, text: string): void {
    this.#problems.push(finding(at, key, text));
  }

  warning(at: Location, key: string, text: string): void {
    this.#warnings.push(finding(at, key, text));
  }

  /**
   * Warns of a key that is not in `known`, which must not be empty. `path` has the names as the table spells
   * them.
   */
  unknownKey({ keyAt, key }: Entry, path: readonly string[], known: readonly string[]): void {
    this.warning(keyAt, key, `unknown key; the nearest known key is ${nearestKey(path, known)}`);
  }

  get problems(): string[] {
    return this.#sorted(this.#problems);
  }

  get warnings(): string[] {
    return this.#sorted(this.#warnings);
  }

  #sorted(findings: readonly Finding[]): string[] {
    const rank = ({ at }: Finding): number => this.#files.indexOf(at.file);
    return [...findings]
      .sort((a, b) => rank(a) - rank(b) || a.at.line - b.at.line || a.at.col - b.at.col)
      .map(({ line }) => line);
  }
}

function finding(at: Location, key: string, text: string): Finding {
  return { at, line: printable(`${at.file}:${at.line}:${at.col}: ${key}: ${text}`) };
}

/**
 * The path in `known` whose last word is nearest to that of `path`; a key in another section counts as one
 * edit further away, and among equals the one with the nearer section comes first.
 */
function nearestKey(path: readonly string[], known: readonly string[]): string {
  const section = path.slice(0, -1).join('.');
  const word = path.at(-1) ?? '';
  const ranked = known.map((candidate) => {
    const names = candidate.split('.');
    const apart = editDistance(section, names.slice(0, -1).join('.'));
    const distance = editDistance(word, names.at(-1) ?? '') + Math.min(apart, OTHER_SECTION_PENALTY);
    return { candidate, apart, distance };
  });
  ranked.sort((a, b) => a.distance - b.distance || a.apart - b.apart);
  return ranked[0]?.candidate ?? '';
}
