// Reads a source file for the rules of the architecture. A real parser finds what the fields of `SourceFile`
// contain.

import { posix } from 'node:path';
import { type Expression, type ParseResult, parseSync, Visitor } from 'oxc-parser';
import { returnedClosures } from './closures.js';

export interface Import {
  /**
   * For a file of the project, its path from the project's root (`src/x.ts`). For any other module, the
   * specifier as it is written (`node:fs`, `yaml`). For a computed specifier, `<computed>`.
   */
  readonly target: string;
  /** True if the compiler erases the import, so that nothing is loaded. */
  readonly typeOnly: boolean;
  /** True for `import('./a.js')`, as a call or in a type. */
  readonly dynamic: boolean;
  readonly line: number;
}

export interface SourceFile {
  /** The path from the project's root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  /**
   * The text, with blanks in place of comments, and of what is inside strings, templates and regular
   * expressions. Each position is the same as in `text`.
   */
  readonly code: string;
  readonly imports: readonly Import[];
  readonly comments: readonly Span[];
  readonly names: readonly Name[];
  /**
   * Two things that should be written out. One is a literal that is spread into a literal or a call:
   * `[x, ...[a, b]]`, also with a method, `[x, ...[a, b].map(f)]`. The other is an assignment of a tuple to
   * several names: `const [a, b] = [c, d]`.
   */
  readonly squeezed: readonly Span[];
  /** Functions that are returned, and share a `let` with the function that returns them. */
  readonly closures: readonly Span[];
  /** The titles of tests and suites, as far as they are literals in the call of `test` or `describe`. */
  readonly titles: readonly Title[];
}

export interface Title {
  readonly text: string;
  readonly start: number;
}

/** An identifier, wherever it stands; a private one without its `#`. */
export interface Name {
  readonly name: string;
  readonly start: number;
}

export interface Span {
  readonly start: number;
  readonly end: number;
}

export const lineAt = (text: string, position: number): number => text.slice(0, position).split('\n').length;

const DECLARES_TEST: ReadonlySet<string> = new Set(['test', 'describe']);

/** Throws if the parser finds an error in the text. */
export function sourceFile(path: string, text: string): SourceFile {
  const parsed = parseSync(path, text);
  if (parsed.errors.length > 0) throw new Error(`${path}: ${parsed.errors[0]?.message}`);
  const blanks: Span[] = [...parsed.comments];
  const names: Name[] = [];
  const squeezed: Span[] = [];
  const titles: Title[] = [];
  /** Imports in types, such as `import('./a.js').A`. */
  const typeImports: (Span & { readonly source: { readonly value: string } })[] = [];
  new Visitor({
    Literal: ({ start, end, value }) => {
      if (typeof value === 'string' || value instanceof RegExp)
        blanks.push({ start: start + 1, end: end - 1 });
    },
    TemplateElement: (node) => blanks.push(node),
    TSImportType: (node) => typeImports.push(node),
    Identifier: ({ name, start }) => names.push({ name, start }),
    PrivateIdentifier: ({ name, start }) => names.push({ name, start }),
    CallExpression: ({ callee, arguments: [title] }) => {
      const isTest = callee.type === 'Identifier' && DECLARES_TEST.has(callee.name);
      if (!isTest || (title?.type !== 'Literal' && title?.type !== 'TemplateLiteral')) return;
      titles.push({ text: text.slice(title.start + 1, title.end - 1), start: title.start });
    },
    SpreadElement: (node) => {
      if (isLiteral(node.argument) || isMadeOfLiteral(node.argument)) squeezed.push(node);
    },
    VariableDeclarator: (node) => {
      if (node.id.type === 'ArrayPattern' && isTuple(node.init)) squeezed.push(node);
    },
    AssignmentExpression: (node) => {
      if (node.left.type === 'ArrayPattern' && isTuple(node.right)) squeezed.push(node);
    },
  }).visit(parsed.program);
  const file = { path, text, module: parsed.module };
  return {
    path,
    text,
    code: blanked(text, blanks),
    comments: parsed.comments,
    names,
    squeezed,
    closures: returnedClosures(parsed.program),
    titles,
    imports: [
      ...importsOf(file),
      ...typeImports.map(({ start, source }) =>
        importAt(file, start, source.value, { typeOnly: true, dynamic: true }),
      ),
    ],
  };
}

/** The expression without `as T`, `satisfies T` and parentheses. */
function unwrapped(expression: Expression): Expression {
  switch (expression.type) {
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
    case 'ParenthesizedExpression':
      return unwrapped(expression.expression);
    default:
      return expression;
  }
}

function isLiteral(expression: Expression): boolean {
  const { type } = unwrapped(expression);
  return type === 'ObjectExpression' || type === 'ArrayExpression';
}

/**
 * True for the result of a method of an array literal: `[a, b].map(f)`. False for `[...a].map(f)`, because
 * `a` may have no such method: it may be a `Set`.
 */
function isMadeOfLiteral(expression: Expression): boolean {
  if (expression.type !== 'CallExpression' || expression.callee.type !== 'MemberExpression') return false;
  const object = unwrapped(expression.callee.object);
  if (object.type !== 'ArrayExpression') return isMadeOfLiteral(object);
  const isConversion = object.elements.length === 1 && object.elements[0]?.type === 'SpreadElement';
  return !isConversion;
}

/** True for an array literal that spreads nothing, so that the number of its elements is known. */
function isTuple(expression: Expression | null): boolean {
  if (expression?.type !== 'ArrayExpression') return false;
  return expression.elements.every((element) => element?.type !== 'SpreadElement');
}

interface Parsed extends Pick<ParseResult, 'module'> {
  readonly path: string;
  readonly text: string;
}

function importsOf(file: Parsed): readonly Import[] {
  const { staticImports, staticExports, dynamicImports } = file.module;
  // True for `import type { A } from 'a'`. False for `import type from 'a'`, which imports a value.
  const isTypeOnly = (start: number): boolean =>
    /^\w+\s+type\b(?!\s*(?:,|from\b))/.test(file.text.slice(start));
  return [
    ...staticImports.map(({ start, moduleRequest }) =>
      importAt(file, start, moduleRequest.value, { typeOnly: isTypeOnly(start), dynamic: false }),
    ),
    // `export { a } from './a.js'` loads a file, too, so it counts as an import.
    ...staticExports.flatMap(({ start, entries }) => {
      const from = entries.find(({ moduleRequest }) => moduleRequest !== null)?.moduleRequest;
      return from ? [importAt(file, start, from.value, { typeOnly: isTypeOnly(start), dynamic: false })] : [];
    }),
    ...dynamicImports.map(({ start, moduleRequest }) => {
      const specifier = /^(['"])(.*)\1$/.exec(file.text.slice(moduleRequest.start, moduleRequest.end))?.[2];
      return importAt(file, start, specifier, { typeOnly: false, dynamic: true });
    }),
  ];
}

/** The rules cannot check a computed specifier, so it becomes `<computed>`, which no file may import. */
function importAt(
  { path, text }: Parsed,
  start: number,
  specifier = '<computed>',
  kind: Pick<Import, 'typeOnly' | 'dynamic'>,
): Import {
  const target = specifier.startsWith('.')
    ? posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts')
    : specifier;
  return { target, ...kind, line: lineAt(text, start) };
}

function blanked(text: string, spans: readonly Span[]): string {
  const characters = text.split('');
  for (const { start, end } of spans) {
    for (let at = start; at < end; at += 1) {
      if (characters[at] !== '\n') characters[at] = ' ';
    }
  }
  return characters.join('');
}
