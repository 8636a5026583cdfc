// Names of entities and options in Home Assistant, and the parts of their keys. Pure.

import { createHash } from 'node:crypto';
import { printable } from '../../printable.js';
import { capped } from '../text.js';

/** A longer name is cut where it is displayed. */
const NAME_CHARS_MAX = 100;
const SLUG_CHARS_MAX = 64;
const HASH_CHARS = 8;

/**
 * Blanks of Python, which has more than JavaScript: Home Assistant takes them from the ends of what a
 * template gives, before it compares.
 */
const BLANK = '[\\s\\u001c-\\u001f\\u0085]+';
const BLANKS_AT_ENDS = new RegExp(`^${BLANK}|${BLANK}$`, 'g');

function trimmed(name: string): string {
  return name.replace(BLANKS_AT_ENDS, '');
}

/**
 * Cut to whole characters: half a character, cut off or received, makes Home Assistant refuse the whole
 * device. '' for blanks alone.
 */
export function displayName(name: string): string {
  const whole = printable(trimmed(Buffer.from(name).toString()));
  // A cut may end in a blank again.
  return trimmed(capped(whole, NAME_CHARS_MAX));
}

const SIMPLE = /^[a-zA-Z0-9_-]{1,64}$/;
export const SIMPLE_UNIT = /^[a-zA-Z0-9_-]{1,64}\.[a-z]+$/;

/**
 * A name as part of a key (letters, digits, _ and - only). Names that do not match `simple` get a hash, so
 * that no two are equal.
 */
export function slugOf(name: string, simple = SIMPLE): string {
  const slug = name.replace(/[^a-zA-Z0-9_-]/g, '_');
  if (simple.test(name)) return slug;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_CHARS);
  return `${slug.slice(0, SLUG_CHARS_MAX)}_${hash}`;
}

/** Texts for people by name: each thing's label, with `more` behind it where several have the same label. */
export function labelsOf(
  rows: readonly (readonly [name: string, label: string, more: string])[],
): ReadonlyMap<string, string> {
  const labelled = rows.map(([name, label, more]) => {
    return { name, label: displayName(label) || displayName(name), more: displayName(more) };
  });
  const isAlone = (label: string): boolean => labelled.filter((other) => other.label === label).length === 1;
  const used = new Set<string>();
  return new Map(
    labelled.map(({ name, label, more }) => {
      let text = isAlone(label) ? label : `${label} (${more})`;
      // This text may be the label of another thing.
      while (used.has(text)) text = `${text} (${more})`;
      used.add(text);
      return [name, text];
    }),
  );
}
