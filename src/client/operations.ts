// The types of all functions of the client (docs/http-api.md, "Routes"), derived from the daemon's table of operations.
// Types only; the build replaces this file with declarations that import nothing.

import type { OperationTable } from '../protocol/actor/operations.js';
import type { ParameterName } from '../protocol/actor/parameters.js';
import type { BodyName, BodyOf, ComponentName, ComponentOf } from '../protocol/actor/schemas.js';

/** An id, or an exact name. */
type Ref = string | number;

/** The labels in these tuples are the parameter names that an editor shows. */
interface Arguments {
  readonly output: [output: Ref];
  readonly card: [card: Ref];
  readonly sink: [sink: Ref];
  readonly player: [player: string];
  readonly trackid: [track: string];
  readonly scope: [scope: 'user' | 'system'];
  readonly unit: [unit: string];
}

type ArgumentsOf<P extends string> = P extends `${string}{${infer N extends ParameterName}}${infer Rest}`
  ? [...Arguments[N], ...ArgumentsOf<Rest>]
  : [];

/** The body is optional if none of its members is required. */
type BodyArgument<Row> = Row extends { readonly body: infer K extends BodyName }
  ? Partial<BodyOf<K>> extends BodyOf<K>
    ? [body?: BodyOf<K>]
    : [body: BodyOf<K>]
  : [];

/** The query, for a log. */
type QueryArgument<Row> = Row extends { readonly kind: 'log' } ? [query?: { readonly lines?: number }] : [];

type AnswerOf<Row> = Row extends { readonly method: 'POST' }
  ? Promise<void>
  : Row extends { readonly schema: infer S extends ComponentName }
    ? Promise<ComponentOf<S>>
    : Promise<Blob>;

/**
 * Each function rejects with a `ProblemError`. Functions that change something resolve when the sound server, systemd, logind or the
 * player has accepted the change. Names are encoded for you.
 */
export type Routes = {
  readonly [N in keyof OperationTable]: (
    ...args: [
      ...ArgumentsOf<OperationTable[N]['path']>,
      ...BodyArgument<OperationTable[N]>,
      ...QueryArgument<OperationTable[N]>,
    ]
  ) => AnswerOf<OperationTable[N]>;
};

export type RouteName = keyof Routes;
