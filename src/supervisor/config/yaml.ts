// Reads YAML text as values with their places, and prints the effective configuration as YAML text. Pure. The
// only file that knows the package `yaml` (1.2, core schema).

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
  type Content,
  describe,
  type Entry,
  type Findings,
  keyPath,
  type Location,
  quoted,
} from './findings.js';
import type { KeyValues } from './keys.js';

/** Limit for syntax problems of one file; the first usually causes the rest. */
const MAX_SYNTAX_PROBLEMS = 10;

const OPTIONS = {
  version: '1.2',
  schema: 'core',
  merge: false,
  resolveKnownTags: false,
  stringKeys: true,
  prettyErrors: false,
  logLevel: 'error',
} as const;

/** Shown in place of a key for problems that belong to none. */
const SYNTAX = 'syntax';
const DOCUMENT = 'document';

/** Replacements for the package's messages, which are for programmers. */
const WORDS: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'this key is given twice in one map',
  MULTIPLE_DOCS: 'a second YAML document in one file is not allowed',
  RESOURCE_EXHAUSTION: 'it is nested too deeply',
};

// The opposite of YAML 1.2, production c-printable; the package also uses some of these characters as marks
// inside its lexer.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

type Place = (offset: number) => Location;

/**
 * Always a map: an empty text is an empty map. Undefined if the text cannot be used; `findings` has the
 * reason.
 */
export function parseConfig(file: string, text: string, findings: Findings): Entry | undefined {
  const forbidden = FORBIDDEN.exec(text);
  const lineCounter = new LineCounter();
  const document = parseDocument(text.slice(0, forbidden?.index), { ...OPTIONS, lineCounter });
  const at: Place = (offset) => ({ file, ...lineCounter.linePos(offset) });
  const wrong = (offset: number, what: string): undefined => {
    findings.problem(at(offset), SYNTAX, what);
  };
  if (forbidden !== null) {
    const code = forbidden[0].charCodeAt(0).toString(16).padStart(4, '0');
    return wrong(forbidden.index, `the control character U+${code} is not allowed`);
  }
  // Other errors of a text that is nested too deeply are consequences.
  const [deep] = document.errors.filter(({ code }) => code === 'RESOURCE_EXHAUSTION');
  const errors = deep === undefined ? document.errors.slice(0, MAX_SYNTAX_PROBLEMS) : [deep];
  for (const { code, message, pos } of errors) wrong(pos[0], printable(WORDS[code] ?? message));
  for (const { message, pos } of document.warnings.slice(0, MAX_SYNTAX_PROBLEMS))
    findings.warning(at(pos[0]), SYNTAX, printable(message));
  if (errors.length > 0) return undefined;
  try {
    const stray = strayAlias(document);
    // Probably a pattern was meant.
    const noAnchor = `the alias ${quoted(`*${stray?.source}`)} has no anchor before it`;
    if (stray !== undefined) return wrong(stray.range?.[0] ?? 0, noAnchor);
    // Called only because it enforces the package's limit for the growth by aliases.
    document.toJS();
    const root = entryOf(document.contents, document, '', at);
    const content = root.content ?? new Map();
    if (content instanceof Map) return { ...root, content };
    findings.problem(root.at, DOCUMENT, `must be a map of keys, not ${describe(content)}`);
    return undefined;
  } catch (error) {
    // The package throws these if aliases multiply too much, and the stack overflows if one contains itself.
    if (!(error instanceof ReferenceError || error instanceof RangeError)) throw error;
    return wrong(0, 'its aliases or its nesting make it too large');
  }
}

/** The first alias that stands for nothing. */
function strayAlias(document: Document.Parsed): Alias | undefined {
  let stray: Alias | undefined;
  visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document) === undefined) stray ??= alias;
    },
  });
  return stray;
}

/**
 * The value of a node. Behind an alias, the places are those where it is defined. `keyOffset` also places a
 * value without a node: `{a}`.
 */
function entryOf(node: Node | null, document: Document.Parsed, key: string, at: Place, keyOffset = 0): Entry {
  const target = isAlias(node) ? node.resolve(document) : node;
  const inner = (item: Node | null, itemKey: string, offset?: number) =>
    entryOf(item, document, itemKey, at, offset);
  let content: Content = isScalar<Content>(target) ? target.value : null;
  if (isSeq<Node>(target))
    content = target.items.map((item, index) => inner(item, `${key}[${index}]`, keyOffset));
  else if (isMap<Node, Node | null>(target))
    content = new Map(
      target.items.map((pair) => {
        const name = isScalar(pair.key) ? String(pair.key.value) : '';
        return [name, inner(pair.value, keyPath(key, name), pair.key.range?.[0])];
      }),
    );
  return { key, keyAt: at(keyOffset), at: at(node?.range?.[0] ?? keyOffset), content };
}

/**
 * All keys that have a value, under the names of docs/configuration.md, "Keys", as one YAML document. Loading
 * it gives the same settings again.
 */
export function effectiveYaml(values: KeyValues): string {
  const { enabled, system, user } = values.systemd;
  // A unit without a URL is printed as its name only, as people write it.
  const printed = (list: readonly UnitEntry[]) => list.map((unit) => (unit.url ? unit : unit.name));
  const printedValues = { ...values, systemd: { enabled, system: printed(system), user: printed(user) } };
  // Folded lines are correct YAML but hard to grep.
  return stringify(printedValues, {
    version: '1.2',
    schema: 'core',
    lineWidth: 0,
    aliasDuplicateObjects: false,
  });
}
