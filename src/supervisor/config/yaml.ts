// YAML text -> tree of values that know their location and key, and the effective configuration -> YAML text. Pure. The only file
// that knows the package `yaml` (1.2, core schema).

import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  LineCounter,
  type ParsedNode,
  Parser,
  type Scalar,
  stringify,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import type { UnitEntry } from '../../protocol/actor/settings.js';
import { described, type Findings, keyPath, type Location, onOneLine, quoted } from './findings.js';
import type { KeyValues } from './keys.js';

/** Deepest nesting of a document. The composer recurses, and running out of stack inside a RegExp aborts Node (measured, Node 20). */
const MAX_DEPTH = 32;

/** Most tokens in a file, comments and line ends counted: bounds the time that composing takes. */
const MAX_TOKENS = 100_000;

/** Most values of a file after its aliases are expanded. */
const MAX_VALUES = 10_000;

/** Most syntax problems that are told of one file; the first causes the rest. */
const MAX_SYNTAX_PROBLEMS = 10;

const COMPOSER_OPTIONS = {
  version: '1.2',
  schema: 'core',
  merge: false,
  resolveKnownTags: false,
  stringKeys: true,
  // Its own check is quadratic; the tree's map finds duplicates anyway.
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: 'silent',
} as const;

/** Places of problems that belong to no key. */
const SYNTAX = 'syntax';
const DOCUMENT = 'document';

// YAML 1.2, production c-printable; the package also uses some of these characters as its own marks between lexer and parser.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

interface ConfigNode {
  readonly at: Location;
  /** Dotted path, as spelled in the file. */
  readonly key: string;
}

export interface ConfigScalar extends ConfigNode {
  readonly kind: 'scalar';
  readonly value: string | number | boolean | null;
}

export interface ConfigList extends ConfigNode {
  readonly kind: 'list';
  readonly items: readonly ConfigValue[];
}

export interface ConfigEntry {
  /** Where the key stands. */
  readonly at: Location;
  readonly key: string;
  readonly value: ConfigValue;
}

export interface ConfigMap extends ConfigNode {
  readonly kind: 'map';
  /** By their names, without the way. */
  readonly entries: ReadonlyMap<string, ConfigEntry>;
}

export type ConfigValue = ConfigScalar | ConfigList | ConfigMap;

/** A text that says nothing is an empty map. Undefined when the text cannot be used: `findings` has been told why. */
export function parseConfig(file: string, text: string, findings: Findings): ConfigMap | undefined {
  const location = locationsIn(file, text);
  const forbidden = FORBIDDEN.exec(text);
  if (forbidden !== null) {
    const code = forbidden[0].charCodeAt(0).toString(16).padStart(4, '0');
    findings.problem(location(forbidden.index), SYNTAX, `the control character U+${code} is not allowed`);
    return undefined;
  }
  const tokens = [...new Parser().parse(text)];
  const excess = firstExcess(tokens);
  if (excess !== undefined) {
    findings.problem(location(excess.offset), SYNTAX, excess.text);
    return undefined;
  }
  const documents = [...new Composer(COMPOSER_OPTIONS).compose(tokens, true, text.length)];
  if (reportSyntax(documents, location, findings)) return undefined;
  const contents = documents[0]?.contents ?? null;
  if (contents === null || (isScalar(contents) && contents.value === null))
    return { kind: 'map', at: location(0), key: '', entries: new Map() };
  const root = new TreeBuilder(location, findings).value(contents, '', 0);
  if (root?.kind === 'map') return root;
  if (root !== undefined)
    findings.problem(root.at, DOCUMENT, `must be a map of keys, not ${described(root)}`);
  return undefined;
}

/** Offsets of the text -> places. */
function locationsIn(file: string, text: string): (offset: number) => Location {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) lines.addNewLine(end + 1);
  return (offset) => ({ file, ...lines.linePos(offset) });
}

/** The first token that is nested too deeply or is one too many. Iterative: the tree may be as deep as the file is long. */
function firstExcess(tokens: readonly CST.Token[]): { offset: number; text: string } | undefined {
  let count = 0;
  const waiting = tokens.map((token) => ({ token, depth: 0 })).reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { token, depth } = next;
    count += 1;
    if (depth > MAX_DEPTH) return { offset: token.offset, text: `nested more than ${MAX_DEPTH} levels deep` };
    if (token.type === 'document') {
      count += token.start.length + (token.end?.length ?? 0);
      if (token.value !== undefined) waiting.push({ token: token.value, depth: 1 });
    } else if ('items' in token) {
      for (const item of token.items) {
        count += item.start.length + (item.sep?.length ?? 0);
        if (item.key) waiting.push({ token: item.key, depth: depth + 1 });
        if (item.value) waiting.push({ token: item.value, depth: depth + 1 });
      }
    } else if ('end' in token) count += token.end?.length ?? 0;
    if (count > MAX_TOKENS)
      return { offset: token.offset, text: `more than ${MAX_TOKENS} tokens in one file` };
  }
  return undefined;
}

/** Tells what the composer found, and says whether the text cannot be used. */
function reportSyntax(
  documents: readonly Document.Parsed[],
  location: (offset: number) => Location,
  findings: Findings,
): boolean {
  const errors = documents.flatMap((document) => document.errors);
  for (const error of errors.slice(0, MAX_SYNTAX_PROBLEMS)) {
    findings.problem(location(error.pos[0]), SYNTAX, onOneLine(error.message));
  }
  for (const warning of documents.flatMap((document) => document.warnings).slice(0, MAX_SYNTAX_PROBLEMS)) {
    findings.warning(location(warning.pos[0]), SYNTAX, onOneLine(warning.message));
  }
  const second = documents[1];
  if (second !== undefined) {
    findings.problem(
      location(second.range[0]),
      DOCUMENT,
      'a second YAML document in one file is not allowed',
    );
  }
  return errors.length > 0 || second !== undefined;
}

/** Turns the package's nodes into ours, once, with a bound on how many aliases may make of them. */
class TreeBuilder {
  readonly #location: (offset: number) => Location;
  readonly #findings: Findings;
  /** In document order an alias means the latest anchor of its name. */
  readonly #anchors = new Map<string, ParsedNode>();
  /** Maps and lists that are still being built. */
  readonly #open = new Set<ParsedNode>();
  #values = 0;

  constructor(location: (offset: number) => Location, findings: Findings) {
    this.#location = location;
    this.#findings = findings;
  }

  /** Undefined when a problem was found that leaves no value. */
  value(node: ParsedNode, key: string, depth: number): ConfigValue | undefined {
    const at = this.#location(node.range[0]);
    this.#values += 1;
    if (this.#values === MAX_VALUES + 1)
      this.#findings.problem(at, key, `more than ${MAX_VALUES} values in one file`);
    if (this.#values > MAX_VALUES) return undefined;
    if (isAlias(node)) return this.#aliased(node.source, at, key, depth);
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (isScalar(node)) return scalar(node, at, key);
    this.#open.add(node);
    const built = isMap(node) ? this.#map(node, at, key, depth) : this.#list(node, at, key, depth);
    this.#open.delete(node);
    return built;
  }

  #aliased(name: string, at: Location, key: string, depth: number): ConfigValue | undefined {
    const target = this.#anchors.get(name);
    let wrong: string | undefined;
    if (target === undefined) wrong = `the alias ${quoted(`*${name}`)} has no anchor before it`;
    else if (this.#open.has(target)) wrong = `the alias ${quoted(`*${name}`)} contains itself`;
    else if (depth > MAX_DEPTH) wrong = `nested more than ${MAX_DEPTH} levels deep`;
    else return this.value(target, key, depth + 1);
    this.#findings.problem(at, key === '' ? DOCUMENT : key, wrong);
    return undefined;
  }

  #list(node: YAMLSeq.Parsed, at: Location, key: string, depth: number): ConfigList {
    const items = node.items.map((item, index) =>
      this.value(item as ParsedNode, `${key}[${index}]`, depth + 1),
    );
    return { kind: 'list', at, key, items: items.filter((item) => item !== undefined) };
  }

  #map(node: YAMLMap.Parsed, at: Location, key: string, depth: number): ConfigMap {
    const entries = new Map<string, ConfigEntry>();
    for (const { key: name, value } of node.items) {
      // `stringKeys` has already refused any other kind of key.
      const spelled = isScalar(name) ? String(name.value) : '';
      const location = this.#location(name.range[0]);
      const path = keyPath(key, spelled);
      const earlier = entries.get(spelled);
      if (earlier !== undefined) {
        this.#findings.problem(location, path, `is given twice, first on line ${earlier.at.line}`);
        continue;
      }
      // `{a}` has a key and no value, not even an empty one.
      const empty = { kind: 'scalar', at: location, key: path, value: null } as const;
      const built = value === null ? empty : this.value(value, path, depth + 1);
      if (built !== undefined) entries.set(spelled, { at: location, key: path, value: built });
    }
    return { kind: 'map', at, key, entries };
  }
}

function scalar({ value }: Scalar, at: Location, key: string): ConfigScalar {
  const isPlain = value === null || typeof value === 'boolean' || typeof value === 'number';
  return { kind: 'scalar', at, key, value: isPlain ? value : String(value) };
}

/** Every key that has a value, under the names of contract section 1, as one YAML document, which loads to the same settings again. */
export function effectiveYaml(values: KeyValues): string {
  const { enabled, system, user } = values.systemd;
  const shown = { ...values, systemd: { enabled, system: system.map(printed), user: user.map(printed) } };
  // Folded lines are correct YAML but hard to grep.
  return stringify(shown, { version: '1.2', schema: 'core', lineWidth: 0, aliasDuplicateObjects: false });
}

/** A unit without an address is printed as its bare name, as people write it. */
function printed(unit: UnitEntry): UnitEntry | string {
  return unit.url === undefined ? unit.name : unit;
}
