// Calls a function of the client by the name of its operation.

import type { Tonearm } from '../../client/routes.js';
import type { OperationName } from '../../protocol/actor/operations.js';

/** `args` are the path's parameters, then the body or the query. Rejects with a `ProblemError`. */
export function askNode(node: Tonearm, operation: OperationName, args: readonly unknown[]): Promise<unknown> {
  // TypeScript cannot check these arguments. They fit, because the words that become arguments (commands.ts)
  // and the function's type both follow from the table of operations.
  const ask = node[operation] as (...args: readonly unknown[]) => Promise<unknown>;
  return ask(...args);
}
