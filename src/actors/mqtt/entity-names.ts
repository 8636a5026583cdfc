// Decides the names of entities and of a select's options in Home Assistant, and how a name is written in the
// key of an entity. Pure.

import { createHash } from 'node:crypto';
import { capped, printable } from '../../printable.js';

/** Home Assistant gets at most this many characters of a name. */
const NAME_MAX_CHARACTERS = 100;
/** A slug is the form that a name has in a key. A longer name is cut. */
const SLUG_MAX_CHARACTERS = 64;
const HASH_CHARS = 8;

/**
 * All characters that are blanks in JavaScript (`\s`) or in Python. Home Assistant is written in Python. It
 * removes blanks from both ends of a template's text, and then compares the text with the options of a
 * select. So options must not begin or end with blanks.
 */
const BLANKS = '[\\s\\u001c-\\u001f\\u0085]+';
const BLANKS_AT_ENDS = new RegExp(`^${BLANKS}|${BLANKS}$`, 'g');

function trimmed(name: string): string {
  return name.replace(BLANKS_AT_ENDS, '');
}

/**
 * Returns '' for a name that has only blanks. Most emoji have two UTF-16 units. If a name has only one of
 * the two, this half is replaced, because Home Assistant would refuse a device message that contains it.
 */
export function displayName(name: string): string {
  // UTF-8 cannot have half of a character, so the buffer replaces the half.
  const wholeCharacters = Buffer.from(name).toString();
  const clean = printable(trimmed(wholeCharacters));
  // The cut may leave a blank at the end.
  return trimmed(capped(clean, NAME_MAX_CHARACTERS));
}

/** A name that is a slug already, such as `kitchen_2`. */
const SIMPLE_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
/** A unit's name with its type, such as `mpd.service`. */
export const SIMPLE_UNIT_NAME = /^[a-zA-Z0-9_-]{1,64}\.[a-z]+$/;

/**
 * The slug has only ASCII letters, digits, `_` and `-`. If the name does not match `simplePattern`, the slug
 * ends with a hash of the name, so that two different names have two different slugs.
 */
export function slugOf(name: string, simplePattern = SIMPLE_NAME): string {
  const slug = name.replace(/[^a-zA-Z0-9_-]/g, '_');
  if (simplePattern.test(name)) return slug;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_CHARS);
  return `${slug.slice(0, SLUG_MAX_CHARACTERS)}_${hash}`;
}

interface LabelledEntry {
  readonly name: string;
  /** The text for people, which other entries may have too. */
  readonly label: string;
  /** This text follows the label, in brackets, if several entries have the same label. */
  readonly addition: string;
}

/** Returns the text for each entry, by the entry's name. No two texts are equal. */
export function distinctLabels(entries: readonly LabelledEntry[]): ReadonlyMap<string, string> {
  const displayed = entries.map(({ name, label, addition }) => {
    return { name, label: displayName(label) || displayName(name), addition: displayName(addition) };
  });
  const isShared = (label: string): boolean => displayed.filter((entry) => entry.label === label).length > 1;
  const textsByName = new Map<string, string>();
  const usedTexts = new Set<string>();
  for (const { name, label, addition } of displayed) {
    let text = isShared(label) ? `${label} (${addition})` : label;
    // The label of another entry may be the same as this text.
    while (usedTexts.has(text)) text = `${text} (${addition})`;
    usedTexts.add(text);
    textsByName.set(name, text);
  }
  return textsByName;
}
