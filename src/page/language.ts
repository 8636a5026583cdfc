// Gives the page's texts and percentages in the browser's language.

import { ENGLISH, type TextKey, type Texts } from './texts/english.js';
import { chooseLanguage, fillIn, LOADERS } from './texts.js';

/** The page is drawn in English if the language is not loaded within this time. */
const LOAD_MAX_MS = 3_000;

const { language: chosenLanguage, formatTag: chosenFormatTag } = chooseLanguage(navigator.languages);

class PageTexts {
  /** Empty for English, and as long as the texts of another language are not loaded. */
  #texts: Texts = {};
  /** The language tag of dates and times. After `load`, it has the language of the texts. */
  formatTag = chosenFormatTag;

  /** Resolves with the language of the page's texts. Never rejects. */
  async load(): Promise<string> {
    if (chosenLanguage === 'en') return chosenLanguage;
    const timeout = new Promise<undefined>((resolve) => setTimeout(resolve, LOAD_MAX_MS));
    const loaded = await Promise.race([LOADERS[chosenLanguage](), timeout]).catch(() => undefined);
    if (loaded === undefined) {
      this.formatTag = 'en';
      return 'en';
    }
    this.#texts = loaded.default;
    return chosenLanguage;
  }

  /**
   * Returns the English text if the language has no text for the key, and the key if there is no English text
   * either. Some keys are made from a state of the node, and a newer node may have states that this page does
   * not know.
   */
  text(key: TextKey): string {
    return this.#texts[key] ?? ENGLISH[key] ?? key;
  }
}

const pageTexts = new PageTexts();

/** Call this before the first text is drawn. Resolves with the language of the texts. */
export function loadLanguage(): Promise<string> {
  return pageTexts.load();
}

export function translate(key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
  return fillIn(pageTexts.text(key), values);
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
  return pageTexts.formatTag;
}

/**
 * 0.426 makes `43%`. The text `percent` says where the percent sign stands. The browser's own formats are
 * not used, because they are slow at the first drawing.
 */
export function formatPercent(part: number): string {
  return translate('percent', { value: Math.round(part * 100) });
}
