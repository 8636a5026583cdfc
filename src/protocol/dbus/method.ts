// Defines received signals, match rules, and the rows in the tables of methods and signals. The signatures in
// a row become the types of its values. Pure.

import type { MethodReply, Signature, Values } from './signatures.js';

/**
 * The state that a method changes. A connection to a bus allows the effect `none`, and at most one other
 * effect.
 */
export type Effect = 'none' | 'units' | 'power' | 'players' | 'announcements' | 'bluetooth';

/**
 * A row for one method. The type `Method` without type arguments accepts every row, such as a
 * `Method<readonly [string], number>`, because `Args` is `never` by default.
 */
export interface Method<Args = never, Result = unknown, E extends Effect = Effect> {
  readonly destination: string;
  /** The path of the object. Absent if each call names a path of its own. */
  readonly path?: string;
  readonly interface: string;
  readonly member: string;
  /** The signature of the arguments. */
  readonly in: string;
  /** The signature of the reply. */
  readonly out: string;
  readonly effect: E;
  /**
   * No row has this member: it only shows the compiler the types of the arguments and of the reply. For
   * `['ss', 'o']` its type is `(args: readonly [string, string]) => string`.
   */
  readonly types?: (args: Args) => Result;
}

/**
 * Returns a function that makes the rows of one interface. If `serverMethod` is the returned function,
 * `serverMethod('GetState', ['', 'i'], 'none')` is the row of a method that has no arguments, replies with an
 * `i`, and changes nothing. If `path` is undefined, each call names a path of its own.
 */
export function methodsOf(destination: string, path: string | undefined, iface: string) {
  return <I extends Signature, O extends Signature, E extends Effect>(
    member: string,
    [input, output]: readonly [input: I, output: O],
    effect: E,
  ): Method<Values<I>, MethodReply<O>, E> => {
    const row = { destination, interface: iface, member, in: input, out: output, effect };
    return path === undefined ? row : { ...row, path };
  };
}

export interface SignalRow<V = unknown> {
  readonly interface: string;
  readonly member: string;
  readonly signature: string;
  /** No row has this member: it only shows the compiler the types of the signal's values. */
  readonly types?: V;
}

export function signalRow<S extends Signature>(
  iface: string,
  member: string,
  signature: S,
): SignalRow<Values<S>> {
  return { interface: iface, member, signature };
}

/**
 * A received signal, or a received call of one of our methods, which has the same form. `sender` is a unique
 * name, or BUS_NAME (daemon.ts) if the bus is the sender. A variant in `values` is only its value, without
 * its signature.
 */
export interface Signal {
  readonly sender: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature: string;
  readonly values: readonly unknown[];
}

/** The values of `signal`; undefined if it is not the signal of `row`, or has another signature. */
export function signalValues<V>(row: SignalRow<V>, signal: Signal): V | undefined {
  const isSameSignal = signal.interface === row.interface && signal.member === row.member;
  if (!isSameSignal || signal.signature !== row.signature) return undefined;
  // The bus delivers a message only if its values match its signature. So the values have the type `V`. The
  // compiler does not know this, and allows `as V` only for a value of the type `unknown`.
  const values: unknown = signal.values;
  return values as V;
}

/** The argument for a `v` in a method's signature: a value with its signature. */
export interface VariantValue {
  readonly variant: 's' | 'b' | 'd' | 'u';
  readonly value: string | boolean | number;
}

/**
 * A match rule: the bus sends us the signals that fit all members of the rule. `arg0` and `arg2` are the
 * first and the third value of a signal. `sender` is a well-known or a unique name. Other programs can send
 * us signals that match no rule. So `Bus` (actors/bus/bus.ts) drops each signal from a program that no rule
 * names as `sender`.
 */
export interface Match {
  readonly sender: string;
  readonly interface?: string;
  readonly member?: string;
  readonly path?: string;
  readonly path_namespace?: string;
  readonly arg0?: string;
  /** The first value must be this name, or a name that begins with this name and a dot. */
  readonly arg0namespace?: string;
  readonly arg2?: string;
}

/** The text of a match rule, as the bus takes it. */
export function matchRule(match: Match): string {
  // An apostrophe cannot stand within quotes. So it stands between two quoted parts, behind a backslash:
  // `it's` becomes `'it'\''s'` (D-Bus, "Match Rules").
  const parts = Object.entries(match).map(([key, value]) => `${key}='${value.replaceAll("'", "'\\''")}'`);
  return ["type='signal'", ...parts].join(',');
}
