// Gives the page's texts and percentages in the browser's language.

import { ENGLISH, type TextKey, type Texts } from './texts/english.js';
import { chooseLanguage, fillIn, LOADERS } from './texts.js';

/** The page is drawn in English if the language is not loaded within this time. */
const LOAD_MAX_MS = 3_000;

const { language, formatTag } = chooseLanguage(navigator.languages);

class Words {
  /** Empty for English, and until the browser's language has come. */
  #texts: Texts = {};
  /** The language of dates and times, which is always that of the texts. */
  formatTag = formatTag;

  /** Resolves with the language of the page's texts. Never rejects. */
  async load(): Promise<string> {
    if (language === 'en') return language;
    const timeout = new Promise<undefined>((resolve) => setTimeout(resolve, LOAD_MAX_MS));
    const loaded = await Promise.race([LOADERS[language](), timeout]).catch(() => undefined);
    if (loaded === undefined) {
      this.formatTag = 'en';
      return 'en';
    }
    this.#texts = loaded.default;
    return language;
  }

  /**
   * Returns the key if it has no text. Some keys are made of a state of the node, and a newer node has
   * states that this page does not know.
   */
  text(key: TextKey): string {
    return this.#texts[key] ?? ENGLISH[key] ?? key;
  }
}

const words = new Words();

/** Call this before the first text is drawn. Resolves with the language of the texts. */
export function loadLanguage(): Promise<string> {
  return words.load();
}

export function translate(key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
  return fillIn(words.text(key), values);
}

/**
 * Isolates a text of a user or a program, as `<bdi>` does: its writing direction does not change the
 * sentence around it. U+2068 begins an isolated text, and U+2069 ends it.
 */
export function isolated(text: string): string {
  return `\u2068${text}\u2069`;
}

/** The language tag of dates and times, such as `en-GB`. */
export function timeLanguage(): string {
  return words.formatTag;
}

/**
 * 0.426 makes `43%`. The text `percent` says where the percent sign stands. The browser's own formats are
 * not used, because they are slow at the first drawing.
 */
export function formatPercent(part: number): string {
  return translate('percent', { value: Math.round(part * 100) });
}
