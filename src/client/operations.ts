// Every operation as a function (contract, section 3): what each is called, takes and gives, derived from the daemon's table. Types only;
// the build puts declarations that need nothing else in the place of this file's.

import type { OperationTable } from '../protocol/actor/operations.js';
import type { PARAMETERS, ParameterName } from '../protocol/actor/parameters.js';
import type { BodyName, BodyOf, ComponentName, ComponentOf } from '../protocol/actor/schemas.js';

type Argument<N extends ParameterName> = (typeof PARAMETERS)[N] extends readonly (infer Word)[]
  ? Word
  : (typeof PARAMETERS)[N] extends 'name'
    ? string
    : string | number;

/** By the names that an editor shows; another parameter works without one. */
interface Labelled {
  readonly output: [output: Argument<'output'>];
  readonly sink: [sink: Argument<'sink'>];
  readonly player: [player: Argument<'player'>];
  readonly scope: [scope: Argument<'scope'>];
  readonly unit: [unit: Argument<'unit'>];
}

type ArgumentsOf<P extends string> = P extends `${string}{${infer N extends ParameterName}}${infer Rest}`
  ? [...(N extends keyof Labelled ? Labelled[N] : [Argument<N>]), ...ArgumentsOf<Rest>]
  : [];

type BodyArgument<Row> = Row extends { readonly body: infer K extends BodyName; readonly isRequired: infer R }
  ? R extends true
    ? [body: BodyOf<K>]
    : [body?: BodyOf<K>]
  : [];

type AnswerOf<Row> = Row extends { readonly method: 'POST' }
  ? Promise<void>
  : Row extends { readonly schema: infer S extends ComponentName }
    ? Promise<ComponentOf<S>>
    : Promise<Blob>;

/**
 * Each function rejects with a `ProblemError`. Those that change something resolve when the sound server, systemd, logind or the
 * player has accepted it. Names are encoded for you.
 */
export type Routes = {
  readonly [N in keyof OperationTable]: (
    ...args: [...ArgumentsOf<OperationTable[N]['path']>, ...BodyArgument<OperationTable[N]>]
  ) => AnswerOf<OperationTable[N]>;
};

export type RouteName = keyof Routes;
