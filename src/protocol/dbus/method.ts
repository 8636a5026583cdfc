// The form of a row in the tables of D-Bus, and how its signatures give the types of its values. Pure.

import type { MethodReply, Signature, Values } from './signatures.js';

/**
 * The kind of thing that a method changes. A connection to a bus allows `none` and one other kind at most.
 */
export type Effect = 'none' | 'units' | 'power' | 'players' | 'announcements' | 'bluetooth';

/**
 * `Method` without type arguments is the type of any row. The argument of its `types` is then of type
 * `never`, and any function with one argument fits this.
 */
export interface Method<Args = never, Result = unknown, E extends Effect = Effect> {
  readonly destination: string;
  /** The object. Absent if each call names its own. */
  readonly path?: string;
  readonly interface: string;
  readonly member: string;
  /** The signature of the arguments. */
  readonly in: string;
  /** The signature of the reply. */
  readonly out: string;
  readonly effect: E;
  /**
   * Never has a value: it only carries the types of `in` and `out` for the compiler. For `['ss', 'o']` its
   * type is `(args: readonly [string, string]) => string`.
   */
  readonly types?: (args: Args) => Result;
}

/**
 * Returns a function that makes the rows of one interface. For the arguments `'GetState', ['', 'i'], 'none'`,
 * the returned function makes the row of the method `GetState`, which has no arguments, replies with an `i`,
 * and changes nothing. Without a `path`, each call names its own object.
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
  /** Never has a value: it only carries the types of `signature` for the compiler. */
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
 * A received signal. A received call of one of our methods has the same form. `sender` is a unique name, or
 * BUS_NAME (daemon.ts) for the bus itself. A variant in `values` has no signature.
 */
export interface Signal {
  readonly sender: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature: string;
  readonly values: readonly unknown[];
}

/** The values of the row's signal; undefined for any other signal, and for another signature. */
export function signalValues<V>(row: SignalRow<V>, signal: Signal): V | undefined {
  const isSameSignal = signal.interface === row.interface && signal.member === row.member;
  if (!isSameSignal || signal.signature !== row.signature) return undefined;
  // The bus never delivers a message whose values do not match its signature, so the values have this type.
  const values: unknown = signal.values;
  return values as V;
}

/** The argument for a `v` in a method's signature: a value with its signature. */
export interface VariantValue {
  readonly variant: 's' | 'b' | 'd' | 'u';
  readonly value: string | boolean | number;
}

/**
 * A match rule of the bus, which sends us the signals that have all these values. `sender` is a well-known
 * or a unique name. `Bus` (actors/bus/bus.ts) drops signals of any other sender.
 */
export interface Match {
  readonly sender: string;
  readonly interface?: string;
  readonly member?: string;
  readonly path?: string;
  readonly path_namespace?: string;
  readonly arg0?: string;
  /** Matches this name, and names that begin with it and a dot. */
  readonly arg0namespace?: string;
  readonly arg2?: string;
}

/** The text of the rule for the bus. */
export function matchRule(match: Match): string {
  // An apostrophe cannot be escaped inside quotes. So the quotes end before it, and begin again after it:
  // `it's` becomes `'it'\''s'` (D-Bus, "Match Rules").
  const parts = Object.entries(match).map(([key, value]) => `${key}='${value.replaceAll("'", "'\\''")}'`);
  return ["type='signal'", ...parts].join(',');
}
