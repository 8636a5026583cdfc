// The page's texts in the browser's language, with its formats of times and percentages.

import { textsIn } from './texts.js';

export const { language, translate } = textsIn(navigator.languages);

/** A foreign text within a sentence: its direction is its own, as with `bdi`. */
export function isolated(text: string): string {
  return `\u2068${text}\u2069`;
}

/**
 * `time` is RFC 3339; shown in local time. Without `Intl`, whose first format takes a browser 20 ms, and a
 * slow phone 100.
 */
export function formatTime(time: string): string {
  const at = new Date(time);
  const two = (part: number): string => String(part).padStart(2, '0');
  const month = translate('months').split(' ')[at.getMonth()] ?? '';
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return translate('time', { day: at.getDate(), month, year: at.getFullYear(), clock });
}

/** 0.426 -> `43%`. */
export function formatPercent(part: number): string {
  return translate('percent', { value: Math.round(part * 100) });
}
