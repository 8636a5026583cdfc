// Calls a function of the client by the name of its operation.

import type { Tonearm } from '../../client/routes.js';
import type { OperationName } from '../../protocol/actor/operations.js';

/** `args` are the path's parameters, then the body or the query. Rejects with a `ProblemError`. */
export function askNode(node: Tonearm, operation: OperationName, args: readonly unknown[]): Promise<unknown> {
  // TypeScript cannot check these arguments. The table of operations decides which words become arguments
  // (commands.ts), and the function's type follows from the same table.
  const ask = node[operation] as (...args: readonly unknown[]) => Promise<unknown>;
  return ask(...args);
}
