// YAML text -> the plain values of a file and where each of them stands, and the effective configuration -> YAML text. Pure. The only
// file that knows the package `yaml` (1.2, core schema).

import { type Document, isAlias, isMap, isScalar, isSeq, parseDocument, stringify, visit } from 'yaml';
import type { UnitEntry } from '../../protocol/actor/settings.js';
import { described, type Findings, onOneLine, quoted } from './findings.js';
import { Given, isPlainMap, type Path } from './given.js';
import type { KeyValues } from './keys.js';

/** Most syntax problems that are told of one file; the first causes the rest. */
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

/** How much of a file its aliases may make, in the package's count. */
const MAX_ALIAS_COUNT = 1000;

/** Places of problems that belong to no key. */
const SYNTAX = 'syntax';
const DOCUMENT = 'document';

/** In the place of words that are for programmers. */
const WORDS: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'this key is given twice in one map',
  MULTIPLE_DOCS: 'a second YAML document in one file is not allowed',
  RESOURCE_EXHAUSTION: 'it is nested too deeply',
};

// YAML 1.2, production c-printable; the package also uses some of these characters as its own marks between lexer and parser.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

/** A map. A text that says nothing is an empty one. Undefined when the text cannot be used: `findings` has been told why. */
export function parseConfig(file: string, text: string, findings: Findings): Given | undefined {
  const at = (offset: number) => {
    const lines = text.slice(0, offset).split('\n');
    return { file, line: lines.length, col: (lines.at(-1) ?? '').length + 1 };
  };
  const forbidden = FORBIDDEN.exec(text);
  if (forbidden !== null) {
    const code = forbidden[0].charCodeAt(0).toString(16).padStart(4, '0');
    findings.problem(at(forbidden.index), SYNTAX, `the control character U+${code} is not allowed`);
    return undefined;
  }
  const document = parseDocument(text, OPTIONS);
  // What it says of such a text beside this follows from it.
  const [deep] = document.errors.filter(({ code }) => code === 'RESOURCE_EXHAUSTION');
  const errors = deep === undefined ? document.errors.slice(0, MAX_SYNTAX_PROBLEMS) : [deep];
  for (const { code, message, pos } of errors)
    findings.problem(at(pos[0]), SYNTAX, onOneLine(WORDS[code] ?? message));
  for (const { message, pos } of document.warnings.slice(0, MAX_SYNTAX_PROBLEMS))
    findings.warning(at(pos[0]), SYNTAX, onOneLine(message));
  if (errors.length > 0) return undefined;
  const content = contentOf(document);
  if ('wrong' in content) {
    findings.problem(at(content.offset), SYNTAX, content.wrong);
    return undefined;
  }
  const { value } = content;
  const root = new Given(value ?? {}, { place: (path, part) => at(offsetOf(document, path, part)) });
  if (isPlainMap(root.value)) return root;
  findings.problem(root.at, DOCUMENT, `must be a map of keys, not ${described(value)}`);
  return undefined;
}

interface Wrong {
  readonly offset: number;
  readonly wrong: string;
}

/** Its plain value, or what is wrong with its aliases. */
function contentOf(document: Document.Parsed): { readonly value: unknown } | Wrong {
  let stray: Wrong | undefined;
  try {
    visit(document, {
      Alias: (_, alias) => {
        if (alias.resolve(document) !== undefined) return undefined;
        // Somebody may have meant a pattern.
        const wrong = `the alias ${quoted(`*${alias.source}`)} has no anchor before it`;
        stray = { offset: alias.range?.[0] ?? 0, wrong };
        return visit.BREAK;
      },
    });
    return stray ?? { value: document.toJS({ maxAliasCount: MAX_ALIAS_COUNT }) };
  } catch (error) {
    // The package's answer to aliases that multiply, and the stack's end.
    if (!(error instanceof ReferenceError || error instanceof RangeError)) throw error;
    return { offset: 0, wrong: 'its aliases or its depth make too much of it' };
  }
}

/** Where a value stands, or its key; of what lies behind an alias, where it is written. */
function offsetOf(document: Document.Parsed, path: Path, part: 'key' | 'value'): number {
  let node: unknown = document.contents;
  let offsets = { key: 0, value: document.contents?.range[0] ?? 0 };
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    const pair = isMap(node)
      ? node.items.find(({ key }) => isScalar(key) && String(key.value) === step)
      : undefined;
    const key = isScalar(pair?.key) ? pair.key.range?.[0] : undefined;
    node = isSeq(node) ? node.items[Number(step)] : pair?.value;
    const value = isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range?.[0] : undefined;
    // `{a}` has a key and no value, not even an empty one.
    offsets = { key: key ?? offsets.value, value: value ?? key ?? offsets.value };
  }
  return offsets[part];
}

/**
 * Every key that has a value, under the names of docs/configuration.md, "Keys", as one YAML document, which loads to the same settings
 * again.
 */
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
