// Decides what a payload that is no object means: a word, or the plain value of one setting. Pure.

import { numberIn, SWITCH_WORDS, TOGGLE_WORD } from '../../protocol/actor/plain-values.js';
import { boundedJson } from './topics.js';

/** A sender may write a word as it is, or as a JSON string. Blanks around it are removed. */
export function wordIn(payload: string): string {
  const json = boundedJson(payload);
  return (typeof json === 'string' ? json : payload).trim();
}

type Body = Readonly<Record<string, unknown>>;

interface PlainSetting {
  /** All words that the setting takes; empty if its value is a number. */
  readonly words: readonly string[];
  /** The body that the operation gets for a word or number; undefined for an unknown word. */
  readonly bodyOf: (text: string) => Body | undefined;
}

/** Each key is the level before `/set` in a topic, such as `volume` in `audio/server/volume/set`. */
export const PLAIN_BODIES: Readonly<Record<string, PlainSetting>> = {
  volume: { words: [], bodyOf: volumeBody },
  mute: { words: [...SWITCH_WORDS.keys(), TOGGLE_WORD], bodyOf: muteBody },
};

/** A text that is no number goes into the body as it is, so that the operation refuses it. */
function volumeBody(text: string): Body {
  return { volume: numberIn(text) ?? text };
}

function muteBody(word: string): Body | undefined {
  // The operation toggles if its body lacks the member `muted`.
  if (word === TOGGLE_WORD) return {};
  const muted = SWITCH_WORDS.get(word);
  return muted === undefined ? undefined : { muted };
}
