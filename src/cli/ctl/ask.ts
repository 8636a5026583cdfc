// Calls the client's function for an operation.

import type { Tonearm } from '../../client/routes.js';
import type { OperationName } from '../../protocol/actor/operations.js';

/**
 * `args` are the parameters of the operation's path, then the body or the query. If the request fails, the
 * promise rejects with a `ProblemError`.
 */
export function askNode(node: Tonearm, operation: OperationName, args: readonly unknown[]): Promise<unknown> {
  // TypeScript cannot check that the arguments fit. They do fit: the table of operations decides the type of
  // the function, and also which arguments a command line may have (commands.ts).
  const ask = node[operation] as (...args: readonly unknown[]) => Promise<unknown>;
  return ask(...args);
}
