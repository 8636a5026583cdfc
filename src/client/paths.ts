// Makes method and path of each function of the client from the daemon's table of operations. The build
// replaces this file with the two values that it exports, so that bundles do not contain the table.

import { OPERATION_NAMES, OPERATIONS } from '../protocol/actor/operations.js';

/** Method and path by the function's name; `{}` is a parameter. */
export const PATHS: Readonly<Record<string, string>> = Object.fromEntries(
  OPERATION_NAMES.map((name): [string, string] => {
    const { method, path } = OPERATIONS[name];
    return [name, `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`];
  }),
);

/** The functions whose response is binary. Only such a `GET` has no schema. */
export const BLOBS: readonly string[] = OPERATION_NAMES.filter((name) => {
  const operation = OPERATIONS[name];
  return operation.method === 'GET' && operation.schema === undefined;
});
