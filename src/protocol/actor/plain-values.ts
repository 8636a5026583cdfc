// How people write values without JSON, in a terminal or as an MQTT payload: numbers, also in percent, and
// the words of a switch. Pure.

/** A number as JSON has it, such as `-0.5` or `1e3`. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** MQTT accepts these words only in capital letters. `tonearm ctl` accepts them in any case. */
export const SWITCH_WORDS: ReadonlyMap<string, boolean> = new Map([
  ['ON', true],
  ['OFF', false],
]);

/** Switches on what is off, and off what is on. */
export const TOGGLE_WORD = 'toggle';

/** Both `40%` and `0.4` are 0.4. Undefined for a word that is no number. */
export function numberIn(word: string): number | undefined {
  const isPercent = word.endsWith('%');
  const digits = (isPercent ? word.slice(0, -1) : word).trim();
  if (!NUMBER.test(digits)) return undefined;
  return isPercent ? Number(digits) / 100 : Number(digits);
}
