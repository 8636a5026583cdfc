// Finds functions that keep state as objects do: they are returned, and share a `let` with the function that
// returns them. An example is `() => a` in `function f() { let a = 1; return () => a; }`.

import type { Program } from 'oxc-parser';
import { visitorKeys } from 'oxc-parser';

/** A node of the syntax tree. Its other members are texts, numbers, and nodes. */
interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);
const isFunction = ({ type }: SyntaxNode): boolean => FUNCTIONS.has(type);

/**
 * Nodes through which a function is returned, such as the object in `return { f: () => a }`. A call is not
 * among them: `return g(() => a)` returns what `g` returns.
 */
const RETURNING_TYPES = new Set([
  'ReturnStatement',
  'ObjectExpression',
  'Property',
  'ArrayExpression',
  'ConditionalExpression',
  'LogicalExpression',
  'ParenthesizedExpression',
  'TSAsExpression',
  'TSSatisfiesExpression',
]);

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  const members = new Map<string, unknown>(Object.entries(node));
  return (visitorKeys[node.type] ?? []).flatMap((key) => members.get(key)).filter(isNode);
}

/** The nodes below `node`. A function among them is included, but not what is inside that function. */
function ownNodes(node: SyntaxNode): readonly SyntaxNode[] {
  return childrenOf(node).flatMap((child) => (isFunction(child) ? [child] : [child, ...ownNodes(child)]));
}

const allNodes = (node: SyntaxNode): readonly SyntaxNode[] => [node, ...childrenOf(node).flatMap(allNodes)];

const nameOf = (node: SyntaxNode): string =>
  'name' in node && typeof node.name === 'string' ? node.name : '';

/** The names that the function itself declares by `let`, except those in a pattern (`let [a] = b`). */
function namesOfLets(outer: SyntaxNode): ReadonlySet<string> {
  const declarations = ownNodes(outer).filter((node) => 'kind' in node && node.kind === 'let');
  const declarators = declarations.flatMap(childrenOf);
  // The first child of a declarator is what it declares: `a` in `a = 1`.
  const declared = declarators.flatMap((declarator) => childrenOf(declarator)[0] ?? []);
  return new Set(declared.map(nameOf));
}

/** The functions that a `return` hands out, alone or as members of an object or array. */
function handedOut(node: SyntaxNode): readonly SyntaxNode[] {
  if (isFunction(node)) return [node];
  return RETURNING_TYPES.has(node.type) ? childrenOf(node).flatMap(handedOut) : [];
}

export function returnedClosures(program: Program): readonly SyntaxNode[] {
  return allNodes(program)
    .filter(isFunction)
    .flatMap((outer) => {
      const letNames = namesOfLets(outer);
      const returnStatements = ownNodes(outer).filter(({ type }) => type === 'ReturnStatement');
      return returnStatements
        .flatMap(handedOut)
        .filter((inner) =>
          allNodes(inner).some((node) => node.type === 'Identifier' && letNames.has(nameOf(node))),
        );
    });
}
