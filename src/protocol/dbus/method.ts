// The rows of the D-Bus tables: a method with its signatures and its effect, a signal, a match rule. The
// TypeScript types of a call's arguments and reply follow from its signatures. Pure.

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
  /** Never set: it carries the types of `in` and `out`, computed once per row. */
  readonly types?: (args: Args) => Result;
}

/** Makes the rows of one interface, on one fixed object or with the path given in each call. */
export function methodsOf(destination: string, path: string | undefined, iface: string) {
  return <const I extends string, const O extends string, const E extends Effect>(
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

export function signalRow<const S extends string>(
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

interface Basic {
  y: number;
  b: boolean;
  n: number;
  q: number;
  i: number;
  u: number;
  /** A number if that is exact, else a bigint. */
  x: number | bigint;
  t: number | bigint;
  d: number;
  s: string;
  o: string;
  g: string;
  /** A variant's value, without its signature. */
  v: unknown;
}

/** The first complete type of a signature, and the rest: `[value, rest]`. */
type First<S extends string> = S extends `a{${infer Key extends 's' | 'o'}${infer Rest}`
  ? First<Rest> extends [infer Value, `}${infer After}`, ...unknown[]]
    ? [Readonly<Record<string, Value>>, After, Key]
    : never
  : S extends `ay${infer Rest}`
    ? [Uint8Array, Rest]
    : S extends `a${infer Rest}`
      ? First<Rest> extends [infer Value, infer After extends string, ...unknown[]]
        ? [readonly Value[], After]
        : never
      : S extends `(${infer Rest}`
        ? Struct<Rest>
        : S extends `${infer Code extends keyof Basic}${infer Rest}`
          ? [Basic[Code], Rest]
          : never;

/** A struct after its opening parenthesis. */
type Struct<S extends string, Done extends readonly unknown[] = readonly []> = S extends `)${infer Rest}`
  ? [Done, Rest]
  : First<S> extends [infer Value, infer After extends string, ...unknown[]]
    ? Struct<After, readonly [...Done, Value]>
    : never;

/**
 * The values of a whole signature, as a tuple. An impossible signature gives `never`, an unknown one unknown
 * values.
 */
export type Values<S extends string> = string extends S ? readonly unknown[] : Sequence<S>;

type Sequence<S extends string, Done extends readonly unknown[] = readonly []> = S extends ''
  ? Done
  : First<S> extends [infer Value, infer After extends string, ...unknown[]]
    ? Sequence<After, readonly [...Done, Value]>
    : never;

/** A reply's value: undefined, its only value, or the tuple of several. */
export type MethodReply<S extends string> =
  Values<S> extends readonly [] ? undefined : Values<S> extends readonly [infer Only] ? Only : Values<S>;
