// The daemon's types that the client uses, and the types of the client's functions. The types of the
// functions are made from the table of operations (docs/http-api.md, "Routes"). Types only. The build
// replaces this file with declarations that import nothing.

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

export type Events = { readonly [T in EventType]: ComponentOf<(typeof EVENTS)[T]> };

/** An id, or an exact name. */
type Ref = string | number;

/** An editor shows the labels in these tuples as the names of the parameters. */
interface ReferenceArguments {
  readonly output: [output: Ref];
  readonly input: [input: Ref];
  readonly card: [card: Ref];
  readonly client: [client: Ref];
  readonly player: [player: string];
  readonly trackid: [track: string];
  readonly scope: [scope: 'user' | 'system'];
  readonly unit: [unit: string];
}

/**
 * The arguments for the parameters of a path: `/services/{scope}/{unit}/start` makes
 * `[scope: 'user' | 'system', unit: string]`.
 */
type ArgumentsOf<Path extends string> =
  Path extends `${string}{${infer Name extends ParameterName}}${infer Rest}`
    ? [...ReferenceArguments[Name], ...ArgumentsOf<Rest>]
    : [];

/** `{ a: 1 } | { b: 2 }` makes `'a' | 'b'`. */
type MemberOf<T> = T extends unknown ? keyof T : never;

/**
 * `{ a: 1 } | { b: 2 }` makes `{ a: 1, b?: never } | { b: 2, a?: never }`. Without this, TypeScript lets one
 * object have the members of both. `T` is one part of the union, and `All` is the whole union.
 */
type Exclusive<T, All = T> = T extends unknown
  ? T & { readonly [K in Exclude<MemberOf<All>, keyof T>]?: never }
  : never;

/** The request body that the table of operations names `K`. */
export type BodyOf<K extends BodyName> = Exclusive<DaemonBodyOf<K>>;

/**
 * The body is optional if none of its members is required: `mute` makes `[body?: { muted?: boolean }]`,
 * `port` makes `[body: { port: string }]`, and an operation without a body makes `[]`.
 */
type BodyArgument<Row> = Row extends { readonly body: infer Body extends BodyName }
  ? Partial<BodyOf<Body>> extends BodyOf<Body>
    ? [body?: BodyOf<Body>]
    : [body: BodyOf<Body>]
  : [];

/** An operation of the kind `log` makes `[query?: { lines?: number }]`. Each other operation makes `[]`. */
type QueryArgument<Row> = Row extends { readonly kind: 'log' } ? [query?: { readonly lines?: number }] : [];

/**
 * A `POST` makes `Promise<void>`. A `GET` with the schema `'Outputs'` makes a promise of the type `Outputs`,
 * and a `GET` without a schema makes `Promise<Binary>`.
 */
type AnswerOf<Row> = Row extends { readonly method: 'POST' }
  ? Promise<void>
  : Row extends { readonly schema: infer Schema extends ComponentName }
    ? Promise<ComponentOf<Schema>>
    : Promise<Binary>;

/**
 * A function that changes something resolves when the program that makes the change, such as the sound
 * server, has accepted it. A function rejects with a `ProblemError` if its request fails, with a `URIError`
 * if a parameter of the path cannot be encoded, and with a `TypeError` if JSON cannot write the body. Pass
 * names as they are: the functions encode them.
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
