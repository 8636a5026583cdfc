// Lists the signatures of D-Bus that `methodsOf` and `signalRow` (method.ts) accept, and the types of their
// values. The daemon also uses the signature `ssv`. It is not in this list, because `setProperty` (daemon.ts)
// makes its row without `methodsOf`. Types only.

/** An integer of 64 bits. It is a bigint only if a number would not be exact. */
type Long = number | bigint;
/**
 * A dictionary of variants. In a received dictionary, each variant is only its value, without its signature.
 * In an argument, each variant is a `VariantValue` (method.ts).
 */
type Variants = Readonly<Record<string, unknown>>;
/** The interfaces of an object, each with its properties. */
type ObjectInterfaces = Readonly<Record<string, Variants>>;
/**
 * A link that systemd has made or removed for a unit file: kind of the change, path of the link, target of
 * the link.
 */
type UnitFileChange = readonly [string, string, string];
/** An inhibitor of logind: what it inhibits, who has it, why, mode, user id, process id. */
type Inhibitor = readonly [string, string, string, string, number, number];

/**
 * The types of values, by signature. A signature is a sequence of complete types, each of which has one value
 * (D-Bus Specification, "Type System"): `so` is two types, `a{sv}` is one. The tables, such as those in
 * avahi.ts, name the values.
 */
interface Signatures {
  '': readonly [];
  b: readonly [boolean];
  y: readonly [number];
  n: readonly [number];
  i: readonly [number];
  u: readonly [number];
  x: readonly [Long];
  t: readonly [Long];
  d: readonly [number];
  s: readonly [string];
  o: readonly [string];
  v: readonly [unknown];
  as: readonly [readonly string[]];
  ao: readonly [readonly string[]];
  ay: readonly [Uint8Array];
  'a{sv}': readonly [Variants];
  'aa{sv}': readonly [readonly Variants[]];
  'a{oa{sa{sv}}}': readonly [Readonly<Record<string, ObjectInterfaces>>];
  '(uo)': readonly [readonly [number, string]];
  'a(sss)': readonly [readonly UnitFileChange[]];
  'a(ssssuu)': readonly [readonly Inhibitor[]];
  is: readonly [number, string];
  os: readonly [string, string];
  ou: readonly [string, number];
  ox: readonly [string, Long];
  so: readonly [string, string];
  ss: readonly [string, string];
  'ba(sss)': readonly [boolean, readonly UnitFileChange[]];
  'oa{sa{sv}}': readonly [string, ObjectInterfaces];
  oas: readonly [string, readonly string[]];
  asb: readonly [readonly string[], boolean];
  asbb: readonly [readonly string[], boolean, boolean];
  sob: readonly [string, string, boolean];
  sss: readonly [string, string, string];
  uos: readonly [number, string, string];
  'sa{sv}as': readonly [string, Variants, readonly string[]];
  uoss: readonly [number, string, string, string];
  iissu: readonly [number, number, string, string, number];
  iisssu: readonly [number, number, string, string, string, number];
  iisssiu: readonly [number, number, string, string, string, number, number];
  iiussssqaay: readonly [
    number,
    number,
    number,
    string,
    string,
    string,
    string,
    number,
    readonly Uint8Array[],
  ];
  iissssisqaayu: readonly [
    number,
    number,
    string,
    string,
    string,
    string,
    number,
    string,
    number,
    readonly Uint8Array[],
    number,
  ];
}

export type Signature = keyof Signatures;

/** The types of all values of a signature: `so` makes `readonly [string, string]`. */
export type Values<S extends Signature> = Signatures[S];

/**
 * The result of a call whose reply has this signature: `''` makes `undefined`, `s` makes `string`, and `so`
 * makes `readonly [string, string]`.
 */
export type MethodReply<S extends Signature> =
  Values<S> extends readonly [] ? undefined : Values<S> extends readonly [infer Only] ? Only : Values<S>;
