// Decides what the broker's answer to a subscription or a publication means: the broker has acknowledged it,
// or refuses some topics. Pure.

import { type Failure, failed, type Result, success } from '../../protocol/actor/result.js';

/** The broker refuses these topics, for instance because of its access list. The connection stays open. */
export interface TopicRefusal {
  readonly kind: 'refused';
  readonly topics: readonly string[];
  /** The name of the reason code, such as `Not authorized`. The names of several codes are joined by `or`. */
  readonly reason: string;
}

/** The connection has ended before the broker answered. `BrokerConnection.ended` gives the reason. */
export interface Ended {
  readonly kind: 'ended';
}

/** The broker's answer to a packet that it has to acknowledge, or `Ended` if there is no answer. */
export type Acknowledgement = Result<undefined, Ended | TopicRefusal>;

export const ACKNOWLEDGED: Acknowledgement = success(undefined);
export const ENDED: Failure<Ended> = failed({ kind: 'ended' });

/** This reason code and all greater ones mean a refusal (MQTT 5, section 2.4). */
const FIRST_REFUSAL_CODE = 0x80;

/**
 * Called with the broker's answer, as the package `mqtt` reports it. `codes` has the reason code of each
 * topic of a subscription. Any other answer has no `codes`.
 */
export type OnAnswer = (error: Error | null | undefined, codes?: readonly number[]) => void;

/** The reason code of an error that the broker has sent; 0 for any other error. */
export function reasonCodeOf(error: Error): number {
  return 'code' in error && typeof error.code === 'number' ? error.code : 0;
}

/**
 * Undefined if no topic is refused. `codes` has the broker's reason code of each topic, and `reasonNames`
 * has the texts for people, by reason code.
 */
export function refusalIn(
  topics: readonly string[],
  codes: readonly number[],
  reasonNames: Readonly<Record<number, string>>,
): TopicRefusal | undefined {
  const refusingCodes = new Set(codes.filter((code) => code >= FIRST_REFUSAL_CODE));
  if (refusingCodes.size === 0) return undefined;
  const refused = topics.filter((_topic, index) => (codes[index] ?? 0) >= FIRST_REFUSAL_CODE);
  const reasons = [...refusingCodes].map((code) => reasonNames[code] ?? `reason code ${code}`);
  return { kind: 'refused', topics: refused, reason: reasons.join(' or ') };
}
