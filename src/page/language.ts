// The page's texts in the browser's language, and how that language writes times and parts.

import { textsIn } from './texts.js';

export const { language, say } = textsIn(navigator.languages);

/** In the text's language, as it is written where the reader lives. */
const LOCALES = [...navigator.languages.filter((tag) => tag.startsWith(language)), language];

/** `time` is RFC 3339. Made when it is needed: the first format that a browser makes takes milliseconds. */
export function sayTime(time: string): string {
  return new Intl.DateTimeFormat(LOCALES, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(time));
}

/** 0.426 -> `43%`. */
export function sayPercent(part: number): string {
  return say('percent', { value: Math.round(part * 100) });
}
