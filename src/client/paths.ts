// Reads off the daemon's table of operations where each function of the client leads. The build puts the result in the place of this file,
// so that no bundle holds the table.

import { OPERATION_NAMES, OPERATIONS } from '../protocol/actor/operations.js';

/** Method and path by the function's name; `{}` is a parameter. */
export const PATHS: Readonly<Record<string, string>> = Object.fromEntries(
  OPERATION_NAMES.map((name): [string, string] => {
    const { method, path } = OPERATIONS[name];
    return [name, `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`];
  }),
);

/** Names of those whose answers are bytes. */
export const BLOBS: readonly string[] = OPERATION_NAMES.filter((name) => {
  const operation = OPERATIONS[name];
  return operation.method === 'GET' && operation.schema === undefined;
});
