// A source file as the rules of the architecture see it: code without comments and strings, its imports, its functions.

import { posix } from 'node:path';
import { type Blanked, blank } from './blanked.js';

export interface Import {
  /** A path from the project's root for a file of the project (`src/x.ts`), else the name as written (`node:fs`, `yaml`). */
  readonly target: string;
  /** Erased by the compiler: nothing is loaded. */
  readonly typeOnly: boolean;
  readonly dynamic: boolean;
  readonly line: number;
}

export interface SourceFunction {
  readonly line: number;
  readonly lines: number;
}

export interface SourceFile {
  /** From the project's root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly code: string;
  readonly lines: number;
  readonly imports: readonly Import[];
  readonly functions: readonly SourceFunction[];
}

const STATIC = /\b(?:import|export)\b([^'"`;()]*?)\bfrom\s*['"]/g;
const BARE = /\bimport\s*['"]/g;
const DYNAMIC = /(\btypeof\s+)?\bimport\s*\(\s*(['"]?)/g;
/** What stands before the parenthesis of a block that is no function. */
const NO_FUNCTION = /\b(?:if|for|while|switch|catch|with|case|await)\s*$/;
/** What precedes the brace of a class; without this, the body of the function before it passes for a return type. */
const CLASS_HEAD = /\bclass\s+\w+[^{};]*$/;
/** A parameter list, perhaps with a return type, at the end of what precedes a brace. */
const HEAD = /\)\s*(?::\s*\S(?:[^;={}]|=>|\{[^{}]*\})*)?$/;
const HEAD_CHARS = 600;

export const lineAt = (text: string, position: number): number => text.slice(0, position).split('\n').length;

function resolve(from: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier;
  return posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts');
}

function importsOf(path: string, { code, strings }: Blanked): readonly Import[] {
  const found: Import[] = [];
  const add = (end: number, at: number, typeOnly: boolean, dynamic: boolean): void => {
    const specifier = strings.get(end - 1);
    // A specifier that is computed cannot be checked, so it counts as one that nobody may import.
    const target = specifier === undefined ? '<computed>' : resolve(path, specifier);
    found.push({ target, typeOnly, dynamic, line: lineAt(code, at) });
  };
  for (const match of code.matchAll(STATIC)) {
    const typeOnly = /^\s+type\s+(?!,|from\b)/.test(match[1] ?? '');
    add(match.index + match[0].length, match.index, typeOnly, false);
  }
  for (const match of code.matchAll(BARE)) add(match.index + match[0].length, match.index, false, false);
  for (const match of code.matchAll(DYNAMIC)) {
    const end = match[2] === '' ? -1 : match.index + match[0].length;
    add(end, match.index, match[1] !== undefined, true);
  }
  return found;
}

/** The position of the parenthesis that the one at `close` closes. */
function openingOf(code: string, close: number): number {
  let depth = 0;
  for (let at = close; at >= 0; at -= 1) {
    if (code[at] === ')') depth += 1;
    if (code[at] === '(') depth -= 1;
    if (depth === 0) return at;
  }
  return 0;
}

function beginsFunction(code: string, brace: number): boolean {
  const before = code.slice(Math.max(0, brace - HEAD_CHARS), brace).trimEnd();
  if (before.endsWith('=>')) return true;
  // A type or a value, perhaps inside a return type.
  if (/[<:|&,([=]$/.test(before)) return false;
  if (CLASS_HEAD.test(before)) return false;
  const head = HEAD.exec(before);
  if (head === null) return false;
  const opening = openingOf(before, head.index);
  return !NO_FUNCTION.test(before.slice(0, opening));
}

function functionsOf(code: string): readonly SourceFunction[] {
  const found: SourceFunction[] = [];
  const open: (number | undefined)[] = [];
  for (const { 0: brace, index } of code.matchAll(/[{}]/g)) {
    if (brace === '{') {
      open.push(beginsFunction(code, index) ? index : undefined);
      continue;
    }
    const begin = open.pop();
    if (begin === undefined) continue;
    const line = lineAt(code, begin);
    found.push({ line, lines: lineAt(code, index) - line + 1 });
  }
  return found;
}

export function sourceFile(path: string, text: string): SourceFile {
  const blanked = blank(text);
  return {
    path,
    text,
    code: blanked.code,
    lines: text.trimEnd().split('\n').length,
    imports: importsOf(path, blanked),
    functions: functionsOf(blanked.code),
  };
}
