// D-Bus signatures as TypeScript types: what a call takes and gives follows from its signature, which stands once. Types only.

interface Basic {
  y: number;
  b: boolean;
  n: number;
  q: number;
  i: number;
  u: number;
  /** A number where it is exact, else a bigint. */
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
  ? First<Rest> extends [infer Value, `}${infer After}`]
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

/** A struct behind its opening parenthesis. */
type Struct<S extends string, Done extends readonly unknown[] = readonly []> = S extends `)${infer Rest}`
  ? [Done, Rest]
  : First<S> extends [infer Value, infer After extends string, ...unknown[]]
    ? Struct<After, readonly [...Done, Value]>
    : never;

/** The values of a whole signature, as a tuple. An impossible signature gives `never`, an unknown one unknown values. */
export type Values<S extends string> = string extends S ? readonly unknown[] : Sequence<S>;

type Sequence<S extends string, Done extends readonly unknown[] = readonly []> = S extends ''
  ? Done
  : First<S> extends [infer Value, infer After extends string, ...unknown[]]
    ? Sequence<After, readonly [...Done, Value]>
    : never;

/** What a reply comes down to: nothing, its only value, or the tuple of several. */
export type MethodReply<S extends string> =
  Values<S> extends readonly [] ? undefined : Values<S> extends readonly [infer Only] ? Only : Values<S>;
