// The first connection of an attempt: reads what the broker retains for this node, and asks whether the claimant of its branch is alive.
// It has no will and publishes only that question, so that it does not disturb a branch of another node.

import { type Clock, within } from '../../clock.js';
import type { BrokerConnection, BrokerMessage } from './broker.js';
import { ONLINE, type RetainedTopics } from './retained-topics.js';
import { ownerText } from './topics.js';

/** Far above what a node publishes; a branch with more is not a node's. */
const TOPICS_MAX = 10_000;
const CHARS_MAX = 16 << 20;
const TOO_MUCH = 'the branch holds more than a node publishes';
/** A bridge that serves a branch answers within this time (docs/home-assistant.md, "Two nodes with one branch"). */
const ANSWER_MS = 5_000;

/** The retained texts by topic; or why they cannot be read; or the text for people that names the branch's living owner. */
export type Look =
  | { readonly held: ReadonlyMap<string, string> }
  | { readonly failed: string }
  | { readonly owner: string };

export async function look(
  topics: RetainedTopics,
  clock: Clock,
  dial: (onMessage: (message: BrokerMessage) => void) => BrokerConnection,
): Promise<Look> {
  const held = new Map<string, string>();
  let chars = 0;
  let isTooMuch = false;
  let answered = (): void => undefined;
  const answer = new Promise<true>((resolve) => {
    answered = () => resolve(true);
  });
  const connection = dial(({ topic, text, retained }) => {
    if (!retained && topic === topics.status && text === ONLINE) answered();
    if (!retained) return;
    chars += text.length;
    isTooMuch ||= held.size >= TOPICS_MAX || chars > CHARS_MAX;
    if (isTooMuch) connection.cut(TOO_MUCH);
    else held.set(topic, text);
  });
  const filters = [topics.full('#'), topics.device];
  // Retained messages arrive between the two replies, because at QoS 0 they are sent in order with them.
  let isDone =
    (await connection.ready) &&
    (await connection.subscribe(filters, { qos: 0 })) &&
    (await connection.unsubscribe(filters));
  const node = held.get(topics.node) ?? '';
  let isAlive = false;
  // A power failure of a node or a cut connection of a broker leaves a claim behind, and so may an earlier connection of ours.
  if (isDone && node !== '' && held.get(topics.status) === ONLINE) {
    isDone =
      (await connection.subscribe([topics.status], { qos: 1 })) &&
      (await connection.publish(topics.full('who'), topics.identifier, false));
    const heard = await within(clock, ANSWER_MS, Promise.race([answer, connection.ended.then(() => false)]));
    isDone &&= heard !== false;
    isAlive = heard === true;
  }
  await connection.end('the look is over');
  // All messages may have arrived together with the replies, so the replies do not prove that the look succeeded.
  if (isTooMuch) return { failed: TOO_MUCH };
  if (!isDone) return { failed: await connection.ended };
  return isAlive ? { owner: ownerText(node, topics.identifier) } : { held };
}
