// The types of the daemon that the client uses: records, bodies, names, the data of events, and the functions
// that follow from the table of operations (docs/http-api.md, "Routes"). Types only; the build replaces this
// file with declarations that import nothing.

import type { EVENTS, EventType } from '../protocol/actor/collections.js';
import type { OperationTable } from '../protocol/actor/operations.js';
import type { ParameterName } from '../protocol/actor/parameters.js';
import type {
  BodyName,
  ComponentName,
  ComponentOf,
  BodyOf as DaemonBodyOf,
} from '../protocol/actor/schemas.js';
import type { Binary } from './platform.js';

export type { Backend, BackendState, ChildName } from '../protocol/actor/backends.js';
export type { FaultCode } from '../protocol/actor/faults.js';
export type * from '../protocol/actor/schemas.js';

/** The stream's events and their data, as the daemon describes them. */
export type Events = { readonly [T in EventType]: ComponentOf<(typeof EVENTS)[T]> };

/** An id, or an exact name. */
type Ref = string | number;

/** The labels in these tuples are the parameter names that an editor shows. */
interface Arguments {
  readonly output: [output: Ref];
  readonly input: [input: Ref];
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

type MemberOf<T> = T extends unknown ? keyof T : never;

/**
 * TypeScript lets an object have the members of several alternatives, so each one excludes the members of the
 * others.
 */
type Exclusive<T, All = T> = T extends unknown
  ? T & { readonly [K in Exclude<MemberOf<All>, keyof T>]?: never }
  : never;

/** A request body, by the name that routes use. */
export type BodyOf<K extends BodyName> = Exclusive<DaemonBodyOf<K>>;

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
    : Promise<Binary>;

/**
 * Each function rejects with a `ProblemError`. Functions that change something resolve when the sound server,
 * systemd, logind or the player has accepted the change. Names are encoded for you.
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
