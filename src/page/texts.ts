// The page's texts in the language that the browser wants. Pure: that is given.

import { ENGLISH, type TextKey } from './english.js';
import { GERMAN } from './german.js';

const LANGUAGES = { en: ENGLISH, de: GERMAN } as const;

type Language = keyof typeof LANGUAGES;

export interface Texts {
  readonly language: Language;
  say(key: TextKey, values?: Readonly<Record<string, string | number>>): string;
}

/** `wanted` are language tags, the dearest first; English where none of them is here. */
export function textsIn(wanted: readonly string[]): Texts {
  const language =
    wanted
      .map((tag) => tag.toLowerCase().split('-')[0])
      .find((tag): tag is Language => tag !== undefined && Object.hasOwn(LANGUAGES, tag)) ?? 'en';
  const table: Readonly<Record<TextKey, string>> = LANGUAGES[language];
  return {
    language,
    // One pass: what is filled in is not looked into again.
    say: (key, values = {}) => table[key].replace(/\{(\w+)\}/g, (_place, name) => String(values[name] ?? '')),
  };
}
