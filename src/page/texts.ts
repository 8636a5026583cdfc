// The page's texts in the best language for the browser. Pure: the browser's languages are an argument.

import { ENGLISH, type TextKey } from './english.js';
import { GERMAN } from './german.js';

const LANGUAGES = { en: ENGLISH, de: GERMAN } as const;

type Language = keyof typeof LANGUAGES;

export interface Texts {
  readonly language: Language;
  translate(key: TextKey, values?: Readonly<Record<string, string | number>>): string;
}

/** `wanted` are language tags, most wanted first; English if none of them is available. */
export function textsIn(wanted: readonly string[]): Texts {
  const language =
    wanted
      .map((tag) => tag.toLowerCase().split('-')[0])
      .find((tag): tag is Language => tag !== undefined && Object.hasOwn(LANGUAGES, tag)) ?? 'en';
  const table: Readonly<Record<TextKey, string>> = LANGUAGES[language];
  return {
    language,
    // One pass, so that placeholders in inserted values are not replaced.
    translate: (key, values = {}) =>
      table[key].replace(/\{(\w+)\}/g, (_place, name) => String(values[name] ?? '')),
  };
}
