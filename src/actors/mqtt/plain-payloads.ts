// Decides the meaning of payloads without JSON: a word, or the plain value of one setting. Pure.

import { numberIn, SWITCH_WORDS, TOGGLE_WORD } from '../../protocol/actor/plain-values.js';
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

/** By the level that ends the topic. The operation refuses a text that is no number, so it is passed on. */
export const PLAIN_BODIES: Readonly<Record<string, PlainValue>> = {
  volume: { words: [], bodyOf: (word) => ({ volume: numberIn(word) ?? word }) },
  mute: { words: [...SWITCH_WORDS.keys(), TOGGLE_WORD], bodyOf: muteIn },
};

function muteIn(word: string): ReturnType<PlainValue['bodyOf']> {
  // Without a member the operation toggles.
  if (word === TOGGLE_WORD) return {};
  const muted = SWITCH_WORDS.get(word);
  return muted === undefined ? undefined : { muted };
}
