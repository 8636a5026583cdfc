// Decides the page's language, and puts values into the page's texts. Pure.

import type { Texts } from './texts/english.js';

type Loader = () => Promise<{ readonly default: Texts }>;

/**
 * The languages besides English, by the first part of a language tag. The page loads only the file of the
 * chosen language. The English texts need no such file, because the page itself contains them.
 */
export const LOADERS = {
  de: () => import('./texts/german.js'),
  es: () => import('./texts/spanish.js'),
  fr: () => import('./texts/french.js'),
  it: () => import('./texts/italian.js'),
  nl: () => import('./texts/dutch.js'),
  pl: () => import('./texts/polish.js'),
  pt: () => import('./texts/portuguese.js'),
} as const satisfies Readonly<Record<string, Loader>>;

export type Language = 'en' | keyof typeof LOADERS;

export interface LanguageChoice {
  readonly language: Language;
  /** The browser's language tag for dates and times, such as `en-GB`. */
  readonly formatTag: string;
}

/**
 * `preferred` contains language tags, the most preferred first. If none of their languages is available, the
 * choice is English. Chromium may add a modifier to a tag, as in `en-US@posix`, although Chromium's own
 * `Intl` refuses such a tag.
 */
export function chooseLanguage(preferred: readonly string[]): LanguageChoice {
  for (const tag of preferred) {
    const formatTag = tag.replace(/@.*/, '');
    const language = formatTag.toLowerCase().split('-')[0] ?? '';
    if (isAvailable(language)) return { language, formatTag };
  }
  return { language: 'en', formatTag: 'en' };
}

function isAvailable(language: string): language is Language {
  return language === 'en' || Object.hasOwn(LOADERS, language);
}

/** Replaces all placeholders in one pass, so that a `{name}` inside a value stays as it is. */
export function fillIn(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (_place, name) => String(values[name] ?? ''));
}
