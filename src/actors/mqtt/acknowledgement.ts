// The broker's answer to a subscription or a publication: done, or a refusal of single topics, which ends no
// connection. Pure.

/** The broker refuses these topics, as its access list says. The connection goes on. */
export interface Refusal {
  readonly topics: readonly string[];
  /** In the broker's words, such as `Not authorized`. */
  readonly reason: string;
}

/** The broker's answer to a packet that it has to acknowledge; false if the connection has ended instead. */
export type Acknowledgement = boolean | Refusal;

/** Reason codes of refusals begin here (MQTT 5, section 2.4). */
const REFUSED_FROM = 0x80;

/** `codes`: the reason code of each topic, where the broker has answered. */
export type Done = (error: Error | null | undefined, codes?: readonly number[]) => void;

export function codeOf(error: Error): number {
  return 'code' in error && typeof error.code === 'number' ? error.code : 0;
}

/**
 * Undefined if no code is a refusal: the error is one of the connection. `names` are those of reason codes.
 */
export function refusalIn(
  topics: readonly string[],
  codes: readonly number[],
  names: Readonly<Record<number, string>>,
): Refusal | undefined {
  const first = codes.find((code) => code >= REFUSED_FROM);
  if (first === undefined) return undefined;
  const refused = topics.filter((_topic, at) => (codes[at] ?? 0) >= REFUSED_FROM);
  return { topics: refused, reason: names[first] ?? `reason code ${first}` };
}
