// Finds functions that keep state as objects do: they are returned, and share a `let` with the function that
// returns them. An example is `() => a` in `function f() { let a = 1; return () => a; }`.

import type { Program } from 'oxc-parser';
import { visitorKeys } from 'oxc-parser';

/** A node of the syntax tree. Its other members depend on `type`. */
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

/** The nodes below `node`, with the functions among them, but without the nodes inside those functions. */
function ownNodes(node: SyntaxNode): readonly SyntaxNode[] {
  return childrenOf(node).flatMap((child) => (isFunction(child) ? [child] : [child, ...ownNodes(child)]));
}

const allNodes = (node: SyntaxNode): readonly SyntaxNode[] => [node, ...childrenOf(node).flatMap(allNodes)];

const nameOf = (node: SyntaxNode): string =>
  'name' in node && typeof node.name === 'string' ? node.name : '';

/** The names that `outer` itself declares by `let`, except those in a pattern (`let [a] = b`). */
function namesOfLets(outer: SyntaxNode): ReadonlySet<string> {
  const declarations = ownNodes(outer).filter((node) => 'kind' in node && node.kind === 'let');
  const declarators = declarations.flatMap(childrenOf);
  // The first child of a declarator is what it declares: `a` in `a = 1`.
  const declared = declarators.flatMap((declarator) => childrenOf(declarator)[0] ?? []);
  return new Set(declared.map(nameOf));
}

/** `node` if it is a function, else the functions that are returned through it (`RETURNING_TYPES`). */
function returnedFunctions(node: SyntaxNode): readonly SyntaxNode[] {
  if (isFunction(node)) return [node];
  return RETURNING_TYPES.has(node.type) ? childrenOf(node).flatMap(returnedFunctions) : [];
}

export function returnedClosures(program: Program): readonly SyntaxNode[] {
  return allNodes(program)
    .filter(isFunction)
    .flatMap((outer) => {
      const letNames = namesOfLets(outer);
      const returnStatements = ownNodes(outer).filter(({ type }) => type === 'ReturnStatement');
      return returnStatements
        .flatMap(returnedFunctions)
        .filter((inner) =>
          allNodes(inner).some((node) => node.type === 'Identifier' && letNames.has(nameOf(node))),
        );
    });
}
