// Decides how `/health` and the log name the topics that are left out, because the node cannot publish
// them, or cannot subscribe to them. Pure.

import { clipped } from '../../printable.js';
import type { LeftOut } from './retained-topics.js';

/** For each reason, `/health` and the log name at most this many topics. */
const LEFT_OUT_NAMED_MAX = 3;
/** The text of these names is cut after this many UTF-16 units. */
const LEFT_OUT_MAX_UNITS = 512;

/** Returns a text for each reason. The text names topics that are left out for this reason. */
export function leftOutTexts(leftOut: readonly LeftOut[]): readonly string[] {
  const topicsByReason = new Map<string, string[]>();
  for (const { topic, reason } of leftOut) {
    const topics = topicsByReason.get(reason) ?? [];
    topics.push(topic);
    topicsByReason.set(reason, topics);
  }
  return [...topicsByReason].map(([reason, topics]) => {
    const names = clipped(topics.slice(0, LEFT_OUT_NAMED_MAX).join(', '), LEFT_OUT_MAX_UNITS);
    const unnamed = topics.length - LEFT_OUT_NAMED_MAX;
    const more = unnamed > 0 ? ` and ${unnamed} more` : '';
    return `${reason}, so left out: ${names}${more}`;
  });
}
