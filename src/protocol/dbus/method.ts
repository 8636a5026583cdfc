// The rows of the D-Bus tables: a method with its signatures and its effect, a signal, a match rule. The
// TypeScript types of a call's arguments and reply follow from its signatures (signatures.ts). Pure.

import type { MethodReply, Signature, Values } from './signatures.js';

/**
 * The effect of a method: none, or on units, the machine's power, media players and so on. A bus connection
 * allows one of them.
 */
export type Effect = 'none' | 'units' | 'power' | 'players' | 'announcements' | 'bluetooth';

export interface Method<Args = never, Result = unknown, E extends Effect = Effect> {
  readonly destination: string;
  /** The object; without it, the path is given with each call. */
  readonly path?: string;
  readonly interface: string;
  readonly member: string;
  readonly in: string;
  readonly out: string;
  readonly effect: E;
  /**
   * Never set: it carries the types of `in` and `out`. For `['ss', 'o']` it is
   * `(args: readonly [string, string]) => string`.
   */
  readonly types?: (args: Args) => Result;
}

/** Makes the rows of one interface, on one fixed object or with the path given in each call. */
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
  /** Never set: it carries the types of `signature`. */
  readonly types?: V;
}

export function signalRow<S extends Signature>(
  iface: string,
  member: string,
  signature: S,
): SignalRow<Values<S>> {
  return { interface: iface, member, signature };
}

/** A received signal, or a call to us, with its values unwrapped. `sender` is the sender's unique name. */
export interface Signal {
  readonly sender: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature: string;
  readonly values: readonly unknown[];
}

/** The signal's values if it matches the row; undefined for another signal or signature. */
export function signalValues<V>(row: SignalRow<V>, signal: Signal): V | undefined {
  const same =
    signal.interface === row.interface && signal.member === row.member && signal.signature === row.signature;
  // The signature is the type: the bus never delivers a message whose values do not match its signature.
  const values: unknown = signal.values;
  return same ? (values as V) : undefined;
}

/** A value for a `v` in a method's signature, with its own type. */
export interface VariantValue {
  readonly variant: 's' | 'b' | 'd' | 'u';
  readonly value: string | boolean | number;
}

/**
 * Selects the signals that the bus sends us, by the keys of its rules. `sender` is a well-known or a unique
 * name; signals of other senders are dropped.
 */
export interface Match {
  readonly sender: string;
  readonly interface?: string;
  readonly member?: string;
  readonly path?: string;
  readonly path_namespace?: string;
  readonly arg0?: string;
  /** This name, or one that begins with it and a dot. */
  readonly arg0namespace?: string;
  readonly arg2?: string;
}

export function matchRule(match: Match): string {
  // An apostrophe cannot be escaped inside the quotes: it is written outside, after a backslash (D-Bus,
  // "Match Rules").
  const parts = Object.entries(match).map(([key, value]) => `${key}='${value.replaceAll("'", "'\\''")}'`);
  return ["type='signal'", ...parts].join(',');
}
