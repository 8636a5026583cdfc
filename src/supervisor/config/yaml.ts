// Reads a configuration file's YAML as values with their places, and turns the effective configuration into
// YAML. Only this file knows the package `yaml`. Pure.

import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  stringify,
  visit,
} from 'yaml';
import { printable } from '../../printable.js';
import type { UnitEntry } from '../../protocol/actor/settings.js';
import {
  type ConfigEntry,
  describe,
  type Findings,
  keyPath,
  type Location,
  quoted,
  type YamlContent,
} from './findings.js';
import type { KeyValues } from './keys.js';

/**
 * At most this many syntax problems of a file are reported, and at most as many warnings. The first problem
 * usually causes the others.
 */
const SYNTAX_PROBLEMS_MAX = 10;

/**
 * Merge keys (`<<`) and tags such as `!!binary` are off, because they belong to YAML 1.1. `prettyErrors`
 * would write the place and lines of the file into the messages, but `Findings` adds the place. With the
 * level `error`, the package itself prints nothing.
 */
const OPTIONS = {
  version: '1.2',
  schema: 'core',
  merge: false,
  resolveKnownTags: false,
  stringKeys: true,
  prettyErrors: false,
  logLevel: 'error',
} as const;

/** Problems that belong to no key have one of these words in place of the key. */
const SYNTAX = 'syntax';
const DOCUMENT = 'document';

/** Some of the package's messages are replaced, because they are written for programmers. */
const MESSAGES: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'this key is given twice in one map',
  MULTIPLE_DOCS: 'a second YAML document in one file is not allowed',
  RESOURCE_EXHAUSTION: 'it is nested too deeply',
};

// YAML 1.2 excludes these characters (c-printable). The package accepts them, although its lexer uses some of
// them as marks.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

/** `offset` counts the characters of the text. */
type LocationOf = (offset: number) => Location;

/**
 * Returns the entry of the whole file. Its content is a map, which is empty for an empty text. If the text
 * cannot be used, the result is undefined, and `findings` has the reason.
 */
export function parseConfig(file: string, text: string, findings: Findings): ConfigEntry | undefined {
  const forbidden = FORBIDDEN.exec(text);
  const lineCounter = new LineCounter();
  // The report of a forbidden character needs the character's line. The line counter gets the beginnings of
  // lines from the parser, so the text before the character is parsed. Other texts are parsed as a whole.
  const document = parseDocument(text.slice(0, forbidden?.index), { ...OPTIONS, lineCounter });
  const locationOf: LocationOf = (offset) => ({ file, ...lineCounter.linePos(offset) });
  const reportSyntax = (offset: number, problem: string): undefined => {
    findings.addProblem(locationOf(offset), SYNTAX, problem);
  };
  if (forbidden !== null) {
    const code = forbidden[0].charCodeAt(0).toString(16).padStart(4, '0');
    return reportSyntax(forbidden.index, `the control character U+${code} is not allowed`);
  }
  // If a text is nested too deeply, its other errors are only consequences.
  const tooDeep = document.errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
  const errors = tooDeep === undefined ? document.errors.slice(0, SYNTAX_PROBLEMS_MAX) : [tooDeep];
  for (const { code, message, pos } of errors) reportSyntax(pos[0], printable(MESSAGES[code] ?? message));
  for (const { message, pos } of document.warnings.slice(0, SYNTAX_PROBLEMS_MAX))
    findings.addWarning(locationOf(pos[0]), SYNTAX, printable(message));
  if (errors.length > 0) return undefined;
  try {
    const alias = aliasWithoutAnchor(document);
    if (alias !== undefined) {
      // YAML also reads a pattern of `players.ignore` without quotes, such as `*spotify`, as an alias.
      const quotedAlias = quoted(`*${alias.source}`);
      return reportSyntax(alias.range?.[0] ?? 0, `the alias ${quotedAlias} has no anchor before it`);
    }
    // This call throws if the aliases stand for too many values. Its result is not needed.
    document.toJS();
    const root = entryOf(document.contents, document, '', locationOf);
    const content = root.content ?? new Map();
    if (content instanceof Map) return { ...root, content };
    findings.addProblem(root.valueAt, DOCUMENT, `must be a map of keys, not ${describe(content)}`);
    return undefined;
  } catch (error) {
    // `toJS` above throws the ReferenceError. `entryOf` throws the RangeError: a value that contains itself,
    // such as `&a [*a]`, overflows the stack.
    if (!(error instanceof ReferenceError || error instanceof RangeError)) throw error;
    return reportSyntax(0, 'its aliases or its nesting make it too large');
  }
}

/** Returns the first alias that has no anchor before it; undefined if every alias has one. */
function aliasWithoutAnchor(document: Document.Parsed): Alias | undefined {
  // `alias.resolve` would search the whole document, which takes a minute for the aliases of a large file.
  const anchors = new Set<string>();
  let first: Alias | undefined;
  visit(document, {
    Value: (_, { anchor }) => {
      if (anchor !== undefined) anchors.add(anchor);
    },
    Alias: (_, alias) => {
      if (!anchors.has(alias.source)) first ??= alias;
    },
  });
  return first;
}

/**
 * The value of an alias has the alias's place. If this value is a list or map, the values inside have the
 * places where they are written, which are at the anchor. A value without a node, such as that of `a` in
 * `{a}`, has its key's place. The items of a list have no keys, so their `keyAt` is that of the list.
 */
function entryOf(
  node: Node | null,
  document: Document.Parsed,
  key: string,
  locationOf: LocationOf,
  keyOffset = 0,
): ConfigEntry {
  const target = isAlias(node) ? node.resolve(document) : node;
  const innerEntryOf = (inner: Node | null, innerKey: string, innerKeyOffset?: number) =>
    entryOf(inner, document, innerKey, locationOf, innerKeyOffset);
  let content: YamlContent = isScalar<YamlContent>(target) ? target.value : null;
  if (isSeq<Node>(target))
    content = target.items.map((item, index) => innerEntryOf(item, `${key}[${index}]`, keyOffset));
  else if (isMap<Node, Node | null>(target))
    content = new Map(
      target.items.map((pair) => {
        const name = isScalar(pair.key) ? String(pair.key.value) : '';
        return [name, innerEntryOf(pair.value, keyPath(key, name), pair.key.range?.[0])];
      }),
    );
  const valueAt = locationOf(node?.range?.[0] ?? keyOffset);
  return { key, keyAt: locationOf(keyOffset), valueAt, content };
}

/**
 * One YAML document with the keys of docs/configuration.md, "Keys". Loading this document gives the same
 * settings again.
 */
export function effectiveYaml(values: KeyValues): string {
  const { enabled, system, user } = values.systemd;
  // A unit without a URL becomes a plain name, because people write it in this way.
  const asWritten = (list: readonly UnitEntry[]) => list.map((unit) => (unit.url ? unit : unit.name));
  const printedValues = { ...values, systemd: { enabled, system: asWritten(system), user: asWritten(user) } };
  return stringify(printedValues, {
    version: '1.2',
    schema: 'core',
    // 0 turns off the folding of long lines, because folded lines are hard to search.
    lineWidth: 0,
    // `true` would print an alias at the second of two keys that share a list.
    aliasDuplicateObjects: false,
  });
}
