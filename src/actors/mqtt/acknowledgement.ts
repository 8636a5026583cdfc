// The broker's answer to a subscription or a publication: done, or a refusal of single topics, which ends no
// connection. Pure.

import { type Failure, failed, type Result, success } from '../../protocol/actor/result.js';

/** The broker refuses these topics, because of its access list. The connection goes on. */
export interface Refusal {
  readonly kind: 'refused';
  readonly topics: readonly string[];
  /** In the broker's words, such as `Not authorized`. */
  readonly reason: string;
}

/** The connection has ended before the broker has answered; the connection has the reason. */
export interface Ended {
  readonly kind: 'ended';
}

/** The broker's answer to a packet that it has to acknowledge. */
export type Acknowledgement = Result<undefined, Ended | Refusal>;

export const ACKNOWLEDGED: Acknowledgement = success(undefined);
export const ENDED: Failure<Ended> = failed({ kind: 'ended' });

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
  return { kind: 'refused', topics: refused, reason: names[first] ?? `reason code ${first}` };
}
