// The page's texts in the browser's language, with its formats of times and percentages.

import { textsIn } from './texts.js';

export const { language, say } = textsIn(navigator.languages);

/** A foreign text within a sentence: its direction is its own, as with `bdi`. */
export function isolated(text: string): string {
  return `\u2068${text}\u2069`;
}

/** `time` is RFC 3339; shown in local time. Without `Intl`, whose first format takes a browser 20 ms, and a slow phone 100. */
export function sayTime(time: string): string {
  const at = new Date(time);
  const two = (part: number): string => String(part).padStart(2, '0');
  const month = say('months').split(' ')[at.getMonth()] ?? '';
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return say('time', { day: at.getDate(), month, year: at.getFullYear(), clock });
}

/** 0.426 -> `43%`. */
export function sayPercent(part: number): string {
  return say('percent', { value: Math.round(part * 100) });
}
