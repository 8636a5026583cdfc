// The page's texts in the browser's language, with its formats of times and percentages.

import { ENGLISH, type TextKey, type Texts } from './texts/english.js';
import { chosenLanguage, filled, LOADERS } from './texts.js';

/** A language that comes later than this is not used: English at once is better than nothing for long. */
const LOAD_MAX_MS = 3_000;

const { language, formatTag } = chosenLanguage(navigator.languages);

class Words {
  /** Empty for English, and until the browser's language has come. */
  #texts: Texts = {};
  #percent: Intl.NumberFormat | undefined;
  #time: Intl.DateTimeFormat | undefined;

  /** Resolves to the language of the page's texts. Never rejects. */
  async load(): Promise<string> {
    if (language === 'en') return language;
    const late = new Promise<undefined>((resolve) => setTimeout(resolve, LOAD_MAX_MS));
    const loaded = await Promise.race([LOADERS[language](), late]).catch(() => undefined);
    if (loaded === undefined) return 'en';
    this.#texts = loaded.default;
    return language;
  }

  /** A newer node has states that this page has no text for. */
  text(key: TextKey): string {
    return this.#texts[key] ?? ENGLISH[key] ?? key;
  }

  // A browser takes 20 ms for its first format of times, and a slow phone 100: it is made when it is needed.
  get time(): Intl.DateTimeFormat {
    this.#time ??= new Intl.DateTimeFormat(formatTag, { dateStyle: 'medium', timeStyle: 'short' });
    return this.#time;
  }

  get percent(): Intl.NumberFormat {
    this.#percent ??= new Intl.NumberFormat(formatTag, { style: 'percent' });
    return this.#percent;
  }
}

const words = new Words();

/** To be called before the first text is drawn. Resolves to the language. */
export function loadLanguage(): Promise<string> {
  return words.load();
}

export function translate(key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
  return filled(words.text(key), values);
}

/** A foreign text within a sentence: its direction is its own, as with `bdi`. */
export function isolated(text: string): string {
  return `\u2068${text}\u2069`;
}

/** `time` is RFC 3339; shown in local time. */
export function formatTime(time: string): string {
  return words.time.format(new Date(time));
}

/** `09:05`. */
export function formatClock(at: Date): string {
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** 0.426 -> `43%`. */
export function formatPercent(part: number): string {
  return words.percent.format(Math.round(part * 100) / 100);
}
