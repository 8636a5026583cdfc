// Decides the meaning of payloads without JSON: a word, or the plain value of one setting. Pure.

import { boundedJson } from './topics.js';

/** Without the blanks around it; it may be written as a JSON text. */
export function wordIn(payload: string): string {
  const json = boundedJson(payload);
  return (typeof json === 'string' ? json : payload).trim();
}

interface PlainValue {
  /** All words that it takes; none for a number. */
  readonly words: readonly string[];
  /** The body of the operation. Undefined for an unknown word. */
  readonly bodyOf: (word: string) => Readonly<Record<string, unknown>> | undefined;
}

const MUTES: ReadonlyMap<string, Readonly<Record<string, unknown>>> = new Map([
  ['ON', { muted: true }],
  ['OFF', { muted: false }],
  // Without a member the operation toggles.
  ['toggle', {}],
]);

/** By the level that ends the topic. */
export const PLAIN_BODIES: Readonly<Record<string, PlainValue>> = {
  volume: { words: [], bodyOf: (word) => ({ volume: volumeIn(word) }) },
  mute: { words: [...MUTES.keys()], bodyOf: (word) => MUTES.get(word) },
};

/**
 * From 0 to 1, or in percent with `%` behind it. The operation refuses a text that is no number, so such a
 * text is passed on.
 */
function volumeIn(word: string): unknown {
  const isPercent = word.endsWith('%');
  const number = boundedJson(isPercent ? word.slice(0, -1) : word);
  if (typeof number !== 'number') return word;
  return isPercent ? number / 100 : number;
}
