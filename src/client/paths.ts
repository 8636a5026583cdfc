// Where each function of the client leads, read off the daemon's table of operations. The build puts what comes of it in the place of this
// file, so that the table itself is in no bundle.

import { OPERATION_NAMES, OPERATIONS } from '../protocol/actor/operations.js';

/** Method and path by the function's name; `{}` is a parameter. */
export const PATHS: Readonly<Record<string, string>> = Object.fromEntries(
  OPERATION_NAMES.map((name) => {
    const { method, path } = OPERATIONS[name];
    return [name, `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`];
  }),
);

/** Names of those whose answers are bytes. */
export const BLOBS: readonly string[] = OPERATION_NAMES.filter((name) => {
  const operation = OPERATIONS[name];
  return operation.method === 'GET' && operation.schema === undefined;
});
