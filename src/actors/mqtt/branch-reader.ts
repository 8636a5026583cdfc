// The first connection of an attempt: reads what the broker retains for this node, and asks whether the claimant of its branch is alive.
// It has no will and publishes only that question, so that it does not disturb a branch of another node.

import { type Clock, within } from '../../clock.js';
import type { BrokerConnection, BrokerMessage } from './broker.js';
import type { BranchClaim } from './node-identity.js';
import { ONLINE, type OwnTopics } from './own-topics.js';

/** Far above what a node publishes; a branch with more is not a node's. */
const TOPICS_MAX = 10_000;
const CHARS_MAX = 16 << 20;
const TOO_MUCH = 'the branch holds more than a node publishes';
/** A bridge that serves a branch answers within this time (docs/home-assistant.md, "Two nodes with one branch"). */
const ANSWER_MS = 5_000;

/** The retained messages by topic and the branch's other owner (undefined: the branch is free), or why they cannot be read. */
export type BranchReading =
  | {
      readonly ok: true;
      readonly held: ReadonlyMap<string, BrokerMessage>;
      readonly owner: string | undefined;
    }
  | { readonly ok: false; readonly reason: string };

export interface BranchReaderParts {
  readonly clock: Clock;
  readonly topics: OwnTopics;
  /** The question's text, for people who watch the topic. */
  readonly identifier: string;
  readonly dial: (onMessage: (message: BrokerMessage) => void) => BrokerConnection;
  /** A text for people that names another claimant of the branch; undefined if there is none. */
  readonly claimedBy: (claim: BranchClaim) => string | undefined;
}

export async function readBranch(parts: BranchReaderParts): Promise<BranchReading> {
  const { topics, dial, claimedBy } = parts;
  const held = new Map<string, BrokerMessage>();
  let chars = 0;
  let isTooMuch = false;
  let ownerAnswered = (): void => undefined;
  const answer = new Promise<'lives'>((resolve) => {
    ownerAnswered = () => resolve('lives');
  });
  const connection = dial((message) => {
    const { topic, text, retained } = message;
    if (!retained) {
      if (topic === topics.status && text === ONLINE) ownerAnswered();
      return;
    }
    chars += text.length;
    isTooMuch ||= held.size >= TOPICS_MAX || chars > CHARS_MAX;
    if (isTooMuch) connection.cut(TOO_MUCH);
    else held.set(topic, message);
  });
  // Retained messages arrive between the two replies, because at QoS 0 they are sent in order with them.
  const isRead =
    (await connection.ready) &&
    (await connection.subscribe(topics.filters, { qos: 0 })) &&
    (await connection.unsubscribe(topics.filters));
  const claimant = isRead ? claimedBy(topics.claimIn(held)) : undefined;
  const owner = claimant === undefined ? 'silent' : await ownerOf(connection, parts, answer);
  await connection.end('the look is over');
  // All messages may have arrived together with the replies, so the replies do not prove that the look succeeded.
  if (isTooMuch) return { ok: false, reason: TOO_MUCH };
  if (!isRead || owner === 'lost') return { ok: false, reason: await connection.ended };
  return { ok: true, held, owner: owner === 'lives' ? claimant : undefined };
}

/** Asks the branch's claimant whether it is alive. A power failure of a node or a cut connection of a broker leaves a claim behind. */
async function ownerOf(
  connection: BrokerConnection,
  { clock, topics, identifier }: BranchReaderParts,
  answer: Promise<'lives'>,
): Promise<'lives' | 'silent' | 'lost'> {
  const isAsked =
    (await connection.subscribe([topics.status], { qos: 1 })) &&
    (await connection.publish(topics.who, identifier, false));
  if (!isAsked) return 'lost';
  const lost = connection.ended.then(() => 'lost' as const);
  return (await within(clock, ANSWER_MS, Promise.race([answer, lost]))) ?? 'silent';
}
