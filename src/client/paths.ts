// Takes the method and the path of each client function from the daemon's table of operations. The build
// replaces the code of this file with its two exported values, so that bundles do not contain the table.

import { OPERATION_NAMES, OPERATIONS } from '../protocol/actor/operations.js';

/** The method and the path of each function, by its name. Each `{}` in a path is a parameter. */
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
