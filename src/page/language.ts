// The page's texts in the browser's language, and how that language writes times and lengths.

import { textsIn } from './texts.js';

export const { language, say } = textsIn(navigator.languages);

/** In the text's language, as it is written where the reader lives. */
const LOCALES = [...navigator.languages.filter((tag) => tag.startsWith(language)), language];

const RELATIVE = new Intl.RelativeTimeFormat(LOCALES, { numeric: 'auto' });
const ABSOLUTE = new Intl.DateTimeFormat(LOCALES, { dateStyle: 'medium', timeStyle: 'short' });
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** `time` is RFC 3339. A day and older is told by its date. */
export function sayTime(time: string, now: number): string {
  const ago = now - Date.parse(time);
  if (!(ago < DAY_MS)) return ABSOLUTE.format(new Date(time));
  return ago < HOUR_MS
    ? RELATIVE.format(-Math.max(0, Math.round(ago / MINUTE_MS)), 'minute')
    : RELATIVE.format(-Math.round(ago / HOUR_MS), 'hour');
}

/** 0.426 -> `43%`. */
export function sayPercent(part: number): string {
  return say('percent', { value: Math.round(part * 100) });
}
