// Values as people write them where no JSON is asked for: numbers, also in percent, and the words of a
// switch. Pure.

/** A number of JSON. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i;

export const SWITCH_WORDS: ReadonlyMap<string, boolean> = new Map([
  ['ON', true],
  ['OFF', false],
]);

/** Turns a switch over. */
export const TOGGLE_WORD = 'toggle';

/** `40%` is 0.4, and `0.4` too. Undefined for what is no number. */
export function numberIn(word: string): number | undefined {
  const isPercent = word.endsWith('%');
  const digits = (isPercent ? word.slice(0, -1) : word).trim();
  if (!NUMBER.test(digits)) return undefined;
  return isPercent ? Number(digits) / 100 : Number(digits);
}
