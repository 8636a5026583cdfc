// Converts YAML text to plain values with their places, and the effective configuration to YAML text. Pure. The only file that knows
// the package `yaml` (1.2, core schema).

import { type Document, isAlias, isMap, isScalar, isSeq, parseDocument, stringify, visit } from 'yaml';
import type { UnitEntry } from '../../protocol/actor/settings.js';
import { ConfigValue, isPlainMap, type Path } from './config-value.js';
import { describe, type Findings, onOneLine, quoted } from './findings.js';
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

/** Limit for the content that aliases create, as the package counts it. */
const MAX_ALIAS_COUNT = 1000;

/** Shown in place of a key for problems that belong to none. */
const SYNTAX = 'syntax';
const DOCUMENT = 'document';

/** Replacements for the package's messages, which are for programmers. */
const WORDS: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'this key is given twice in one map',
  MULTIPLE_DOCS: 'a second YAML document in one file is not allowed',
  RESOURCE_EXHAUSTION: 'it is nested too deeply',
};

// The opposite of YAML 1.2, production c-printable; the package also uses some of these characters as marks inside its lexer.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

/** Always a map: an empty text is an empty map. Undefined if the text cannot be used; `findings` has the reason. */
export function parseConfig(file: string, text: string, findings: Findings): ConfigValue | undefined {
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
  // Other errors of a text that is nested too deeply are consequences.
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
  const root = new ConfigValue(value ?? {}, { place: (path, part) => at(offsetOf(document, path, part)) });
  if (isPlainMap(root.value)) return root;
  findings.problem(root.at, DOCUMENT, `must be a map of keys, not ${describe(value)}`);
  return undefined;
}

interface AliasProblem {
  readonly offset: number;
  readonly wrong: string;
}

/** The plain value, or what is wrong with its aliases. */
function contentOf(document: Document.Parsed): { readonly value: unknown } | AliasProblem {
  let stray: AliasProblem | undefined;
  try {
    visit(document, {
      Alias: (_, alias) => {
        if (alias.resolve(document) !== undefined) return undefined;
        // Probably a pattern was meant.
        const wrong = `the alias ${quoted(`*${alias.source}`)} has no anchor before it`;
        stray = { offset: alias.range?.[0] ?? 0, wrong };
        return visit.BREAK;
      },
    });
    return stray ?? { value: document.toJS({ maxAliasCount: MAX_ALIAS_COUNT }) };
  } catch (error) {
    // The package throws these if aliases multiply too much or the stack overflows.
    if (!(error instanceof ReferenceError || error instanceof RangeError)) throw error;
    return { offset: 0, wrong: 'its aliases or its nesting make it too large' };
  }
}

/** The offset of a value or its key; for a value behind an alias, the place where it is defined. */
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
    // `{a}` has a key but no value node, not even an empty one.
    offsets = { key: key ?? offsets.value, value: value ?? key ?? offsets.value };
  }
  return offsets[part];
}

/**
 * All keys that have a value, under the names of docs/configuration.md, "Keys", as one YAML document. Loading it gives the same settings
 * again.
 */
export function effectiveYaml(values: KeyValues): string {
  const { enabled, system, user } = values.systemd;
  const shown = {
    ...values,
    systemd: { enabled, system: system.map(printedUnit), user: user.map(printedUnit) },
  };
  // Folded lines are correct YAML but hard to grep.
  return stringify(shown, { version: '1.2', schema: 'core', lineWidth: 0, aliasDuplicateObjects: false });
}

/** A unit without a URL is printed as its name only, as people write it. */
function printedUnit(unit: UnitEntry): UnitEntry | string {
  return unit.url === undefined ? unit.name : unit;
}
