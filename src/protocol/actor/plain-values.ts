// How people write values without JSON, in a terminal or as an MQTT payload: numbers, also in percent, and
// the words of a switch. Pure.

/** A number as JSON has it, such as `-0.5` or `1e3`. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** MQTT accepts these words only in capital letters. `tonearm ctl` also accepts them in small letters. */
export const SWITCH_WORDS: ReadonlyMap<string, boolean> = new Map([
  ['ON', true],
  ['OFF', false],
]);

/** The third word of a switch: it turns on what is off, and turns off what is on. */
export const TOGGLE_WORD = 'toggle';

/** The number that a text stands for: `40%`, `40 %` and `0.4` are 0.4. Undefined if the text is no number. */
export function numberIn(text: string): number | undefined {
  const isPercent = text.endsWith('%');
  const numeral = (isPercent ? text.slice(0, -1) : text).trim();
  if (!NUMBER.test(numeral)) return undefined;
  return isPercent ? Number(numeral) / 100 : Number(numeral);
}
