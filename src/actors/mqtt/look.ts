// One look at what a broker keeps of this node: over a connection of its own, which has no will and publishes nothing, so that it does no harm
// where the branch turns out to be another node's.

import type { BrokerConnection, BrokerMessage } from './broker.js';

/** Far above what a node publishes; a branch that holds more is not a node's. */
const TOPICS_MAX = 10_000;
const BYTES_MAX = 16 << 20;

/** Retained messages by topic, or why they cannot be had. */
export type Look =
  | { readonly ok: true; readonly held: ReadonlyMap<string, BrokerMessage> }
  | { readonly ok: false; readonly reason: string };

/** `dial` begins the connection. */
export async function lookAround(
  dial: (onMessage: (message: BrokerMessage) => void) => BrokerConnection,
  filters: readonly string[],
): Promise<Look> {
  const held = new Map<string, BrokerMessage>();
  let bytes = 0;
  const connection = dial((message) => {
    if (!message.retained) return;
    held.set(message.topic, message);
    bytes += message.text.length;
    if (held.size > TOPICS_MAX || bytes > BYTES_MAX)
      connection.cut('the branch holds more than a node publishes');
  });
  // What is retained comes between the two answers, at QoS 0 in one sequence with them.
  const done =
    (await connection.ready) &&
    (await connection.subscribe(filters, { qos: 0 })) &&
    (await connection.unsubscribe(filters));
  await connection.end('the look is over');
  return done ? { ok: true, held } : { ok: false, reason: await connection.ended };
}
