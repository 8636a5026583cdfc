// The page's texts, times and percentages in the browser's language.

import { ENGLISH, type TextKey, type Texts } from './texts/english.js';
import { chooseLanguage, fillIn, LOADERS } from './texts.js';

/** The page is drawn in English if the language is not loaded within this time. */
const LOAD_MAX_MS = 3_000;

const { language, formatTag } = chooseLanguage(navigator.languages);

class Words {
  /** Empty for English, and until the browser's language has come. */
  #texts: Texts = {};
  #time: Intl.DateTimeFormat | undefined;

  /** Resolves with the language of the page's texts. Never rejects. */
  async load(): Promise<string> {
    if (language === 'en') return language;
    const timeout = new Promise<undefined>((resolve) => setTimeout(resolve, LOAD_MAX_MS));
    const loaded = await Promise.race([LOADERS[language](), timeout]).catch(() => undefined);
    if (loaded === undefined) return 'en';
    this.#texts = loaded.default;
    return language;
  }

  /** Returns the key itself if it has no text, because a newer node may have states without a text here. */
  text(key: TextKey): string {
    return this.#texts[key] ?? ENGLISH[key] ?? key;
  }

  // The format is made late, because a browser needs 20 ms for it, and a slow phone 100 ms.
  get time(): Intl.DateTimeFormat {
    this.#time ??= new Intl.DateTimeFormat(formatTag, { dateStyle: 'medium', timeStyle: 'short' });
    return this.#time;
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

/** Makes a text that is not the page's own keep its direction within a sentence, as `<bdi>` does. */
export function isolated(text: string): string {
  return `\u2068${text}\u2069`;
}

/** The date and time in this device's time zone. `time` is in the form of RFC 3339. */
export function formatTime(time: string): string {
  return words.time.format(new Date(time));
}

/** The time of the day as `09:05`. */
export function formatClock(time: Date): string {
  const twoDigits = (part: number): string => String(part).padStart(2, '0');
  return `${twoDigits(time.getHours())}:${twoDigits(time.getMinutes())}`;
}

/**
 * 0.426 makes `43%`. The form comes from a text of the page, because the browser's own formats are slow at
 * the first drawing.
 */
export function formatPercent(part: number): string {
  return translate('percent', { value: Math.round(part * 100) });
}
