// Decides what problems and warnings about the configuration say: how they name a value, its key and its
// place, and which known key is nearest to an unknown key. Pure.

import { editDistance } from '../../edit-distance.js';
import { clipped, printable, withoutPassword } from '../../printable.js';

/** The first line and the first column are 1. A column is one UTF-16 unit. */
export interface Location {
  readonly file: string;
  readonly line: number;
  readonly col: number;
}

export type YamlContent = string | number | boolean | null | ConfigEntry[] | Map<string, ConfigEntry>;

/** One value of a file. The key of a list's item is `LIST[INDEX]`. */
export interface ConfigEntry {
  /** The dotted path of the key as it is written in the file; '' for the whole file. */
  readonly key: string;
  readonly keyAt: Location;
  readonly valueAt: Location;
  readonly content: YamlContent;
}

/** In messages, a text from a file is cut to this length. */
const QUOTED_MAX_CHARACTERS = 60;

/**
 * A known key in another section counts as if it differed by this many edits more, because people mistype a
 * key more often than its section.
 */
const OTHER_SECTION_PENALTY = 1;

/** Returns the text for a message: in quotes, on one line, cut, and without passwords. */
export function quoted(text: string): string {
  const cut = clipped(withoutPassword(text), QUOTED_MAX_CHARACTERS);
  return printable(JSON.stringify(cut));
}

/**
 * The path of a key. `parent` is the path of the map that has the key; '' at the top. The name is quoted if
 * it is empty or long, or if it has other characters than ASCII letters, digits, `_` and `-`.
 */
export function keyPath(parent: string, name: string): string {
  const isPlain = /^[\w-]+$/.test(name) && name.length <= QUOTED_MAX_CHARACTERS;
  const printedName = isPlain ? name : quoted(name);
  return parent === '' ? printedName : `${parent}.${printedName}`;
}

/** Names a value in a message, for instance `the text "abc"`, `8018` or `a list`. */
export function describe(content: YamlContent): string {
  if (content === null) return 'nothing';
  if (Array.isArray(content)) return 'a list';
  if (content instanceof Map) return 'a map';
  return typeof content === 'string' ? `the text ${quoted(content)}` : String(content);
}

interface Finding {
  readonly place: Location;
  readonly message: string;
}

/**
 * Collects problems and warnings, as lines `FILE:LINE:COL: key: what is wrong` (docs/configuration.md, "What
 * is refused").
 */
export class Findings {
  readonly #files: readonly string[];
  readonly #problems: Finding[] = [];
  readonly #warnings: Finding[] = [];

  /** `problems` and `warnings` are sorted by the order of `files`, then by line and column. */
  constructor(files: readonly string[]) {
    this.#files = files;
  }

  /** `key` is the dotted path as it is written in the file. */
  addProblem(place: Location, key: string, text: string): void {
    this.#problems.push(finding(place, key, text));
  }

  addWarning(place: Location, key: string, text: string): void {
    this.#warnings.push(finding(place, key, text));
  }

  /**
   * Warns of a key that does not exist. `path` is the key's path, split into names. `knownPaths` has all
   * dotted paths that exist, and is not empty. For a key of the configuration, both begin at the top:
   * `['api', 'prot']` and `api.port`. For a field in a key's value, both begin in this value: `['lable']`
   * and `label`.
   */
  addUnknownKey({ keyAt, key }: ConfigEntry, path: readonly string[], knownPaths: readonly string[]): void {
    this.addWarning(keyAt, key, `unknown key; the nearest known key is ${nearestKey(path, knownPaths)}`);
  }

  get problems(): string[] {
    return this.#sorted(this.#problems);
  }

  get warnings(): string[] {
    return this.#sorted(this.#warnings);
  }

  #sorted(findings: readonly Finding[]): string[] {
    const fileOrder = ({ file }: Location): number => this.#files.indexOf(file);
    const compare = (a: Location, b: Location): number =>
      fileOrder(a) - fileOrder(b) || a.line - b.line || a.col - b.col;
    return [...findings].sort((a, b) => compare(a.place, b.place)).map(({ message }) => message);
  }
}

function finding(place: Location, key: string, text: string): Finding {
  const { file, line, col } = place;
  return { place, message: printable(`${file}:${line}:${col}: ${key}: ${text}`) };
}

/**
 * Returns the known path whose last name is most similar to the last name of `path`. A path in another
 * section counts as less similar (OTHER_SECTION_PENALTY). If several paths are equally similar, the one with
 * the most similar section is returned.
 */
function nearestKey(path: readonly string[], knownPaths: readonly string[]): string {
  const section = path.slice(0, -1).join('.');
  const name = path.at(-1) ?? '';
  const candidates = knownPaths.map((knownPath) => {
    const names = knownPath.split('.');
    const sectionEdits = editDistance(section, names.slice(0, -1).join('.'));
    const penalty = sectionEdits === 0 ? 0 : OTHER_SECTION_PENALTY;
    const edits = editDistance(name, names.at(-1) ?? '') + penalty;
    return { knownPath, edits, sectionEdits };
  });
  candidates.sort((a, b) => a.edits - b.edits || a.sectionEdits - b.sectionEdits);
  return candidates[0]?.knownPath ?? '';
}
