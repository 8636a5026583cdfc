// Decides which values of a configuration file are valid, and what they become in the settings. There is a
// reader for each kind of value. Pure.

import type { ControlChoice, OutputChoice } from '../../protocol/actor/settings.js';
import { type ConfigEntry, describe, type Findings, quoted } from './findings.js';
import { outputLabel, type TextCheck } from './texts.js';

export interface ReadingContext {
  /** The home directory; '' if there is none. */
  readonly home: string;
  /** Collects the reported problems. */
  readonly findings: Findings;
}

/**
 * If a reader returns undefined, or only a part of the value, it has reported a problem. So the whole
 * configuration is refused.
 */
export type ValueReader<T> = (entry: ConfigEntry, context: ReadingContext) => T | undefined;

/**
 * Reports a value of the wrong type or out of range. `expected` is the text that follows "must be" in the
 * message.
 */
export function reportExpected(
  expected: string,
  { valueAt, key, content }: ConfigEntry,
  { findings }: ReadingContext,
): undefined {
  findings.addProblem(valueAt, key, `must be ${expected}, not ${describe(content)}`);
  return undefined;
}

/** A reader for values that need no conversion. */
function unconverted<T>(expected: string, isValid: (content: unknown) => content is T): ValueReader<T> {
  return (entry, context) => {
    const { content } = entry;
    return isValid(content) ? content : reportExpected(expected, entry, context);
  };
}

export const flag = unconverted('true or false', (content) => typeof content === 'boolean');

export const control: ValueReader<ControlChoice> = unconverted(
  'true, false or local',
  (content) => typeof content === 'boolean' || content === 'local',
);

export const integer = (min: number, max: number): ValueReader<number> =>
  unconverted(
    `a whole number from ${min} to ${max}`,
    (content): content is number =>
      Number.isInteger(content) && Number(content) >= min && Number(content) <= max,
  );

export const fraction = unconverted(
  'a number from 0 to 1',
  (content): content is number => typeof content === 'number' && content >= 0 && content <= 1,
);

const UNIT_SECONDS = { s: 1, m: 60, h: 3600 } as const;

/**
 * Converts a time such as `90`, `90s`, `10m` or `24h` to seconds. A number is returned as it is, even if it
 * is negative or a fraction. A value that is no time gives NaN.
 */
function secondsIn(value: unknown): number {
  if (typeof value === 'number') return value;
  const text = typeof value === 'string' ? value : '';
  const [, count, writtenUnit] = /^(\d{1,6})([smh]?)$/.exec(text) ?? [];
  const unit = writtenUnit === 'm' || writtenUnit === 'h' ? writtenUnit : 's';
  return Number(count) * UNIT_SECONDS[unit];
}

/** The reader returns whole seconds. `min` and `max` are times as in a file, such as `10s`. */
export function duration(min: string, max: string): ValueReader<number> {
  return (entry, context) => {
    const seconds = secondsIn(entry.content);
    const isInRange = seconds >= secondsIn(min) && seconds <= secondsIn(max);
    if (isInRange && Number.isInteger(seconds)) return seconds;
    return reportExpected(`a time from ${min} to ${max}, or seconds`, entry, context);
  };
}

/** Returns a reader that also accepts 0, which means "never". */
export function zeroOr(read: ValueReader<number>): ValueReader<number> {
  return (entry, context) => (secondsIn(entry.content) === 0 ? 0 : read(entry, context));
}

/** `words` are in lower case. The value in the file may have capitals. */
export function oneOfWords<const W extends string>(words: readonly W[]): ValueReader<W> {
  return (entry, context) => {
    const lowerCase = String(entry.content).toLowerCase();
    const word = words.find((candidate) => candidate === lowerCase);
    return word ?? reportExpected(`one of ${words.join(', ')}`, entry, context);
  };
}

/**
 * `kind` is the noun that messages use for the text, with its article: `a host name`. With `secret`, the text
 * is the path of a file that contains a password. Messages do not display this text, because somebody may
 * have written the password itself instead of the path.
 */
export function checkedText(kind: string, check: TextCheck, secret?: 'secret'): ValueReader<string> {
  return (entry, context) => {
    const { valueAt, key, content } = entry;
    const isSecret = secret !== undefined;
    // YAML reads a password of digits as a number, which `reportExpected` would display. The errors of
    // `check` do not quote the text, so `check` gets every secret.
    if (typeof content !== 'string' && !isSecret) return reportExpected(kind, entry, context);
    const text = String(content);
    const checked = check(text, context.home);
    if (checked.ok) return checked.value;
    const fault = isSecret ? `must be ${kind}` : `${quoted(text)} is not ${kind}`;
    context.findings.addProblem(valueAt, key, `${fault}: ${checked.error}`);
    return undefined;
  };
}

/** An empty value counts as an empty list, because all lines of the list may be commented out. */
export function listOf<T>(readItem: ValueReader<T>): ValueReader<readonly T[]> {
  return (entry, context) => {
    const items = entry.content ?? [];
    if (!Array.isArray(items)) return reportExpected('a list', entry, context);
    return items.map((item) => readItem(item, context)).filter((value) => value !== undefined);
  };
}

/** `nameOf` returns the name of an item. No name may occur twice in the list. */
export function listOfDifferent<T>(
  readItem: ValueReader<T>,
  nameOf: (value: T) => string,
): ValueReader<readonly T[]> {
  return (list, context) => {
    const firstLines = new Map<string, number>();
    const readAndCompare: ValueReader<T> = (entry) => {
      const value = readItem(entry, context);
      if (value === undefined) return undefined;
      const name = nameOf(value);
      // If the item is a map, a repeated name is reported at the map's `name`.
      const { valueAt, key } = nameEntry(entry);
      const firstLine = firstLines.get(name);
      if (firstLine === undefined) firstLines.set(name, valueAt.line);
      else context.findings.addProblem(valueAt, key, `${name} is listed twice, first on line ${firstLine}`);
      return value;
    };
    return listOf(readAndCompare)(list, context);
  };
}

export function listOfDifferentTexts(readText: ValueReader<string>): ValueReader<readonly string[]> {
  return listOfDifferent(readText, (text) => text);
}

export function shortListOfDifferentTexts(
  max: number,
  readText: ValueReader<string>,
): ValueReader<readonly string[]> {
  const readList = listOfDifferentTexts(readText);
  return (list, context) => {
    const texts = readList(list, context);
    if (texts !== undefined && texts.length > max)
      context.findings.addProblem(
        list.valueAt,
        list.key,
        `has ${texts.length} items, at most ${max} are allowed`,
      );
    return texts;
  };
}

/** An empty value is refused, although `listOf` would accept it. */
export function flagOrList<T>(readItem: ValueReader<T>): ValueReader<boolean | readonly T[]> {
  return (entry, context) => {
    const { content } = entry;
    if (typeof content === 'boolean') return content;
    if (Array.isArray(content)) return listOf(readItem)(entry, context);
    return reportExpected('true, false or a list', entry, context);
  };
}

/** A single value, even an empty one, becomes a list of one item. `readItem` reports the empty value. */
export function oneOrMore<T>(readItem: ValueReader<T>): ValueReader<readonly T[]> {
  return (entry, context) => {
    const items = Array.isArray(entry.content) ? entry.content : [entry];
    if (items.length === 0)
      context.findings.addProblem(entry.valueAt, entry.key, 'must not be an empty list');
    return listOf(readItem)({ ...entry, content: items }, context);
  };
}

/** Reads a map whose names the administrator chooses. An empty value counts as an empty map. */
export function byName<T>(readItem: ValueReader<T>): ValueReader<Readonly<Record<string, T>>> {
  return (entry, context) => {
    const map = entry.content ?? new Map<string, ConfigEntry>();
    if (!(map instanceof Map)) return reportExpected('a map by name', entry, context);
    const values = new Map<string, T>();
    for (const [name, item] of map) {
      const value = readItem(item, context);
      if (value !== undefined) values.set(name, value);
    }
    return Object.fromEntries(values);
  };
}

interface NameRules {
  /** A map has at most this many names. */
  readonly max: number;
  /** The plural noun that messages use for the named things, such as `groups`. */
  readonly nounPlural: string;
  /** Returns what is wrong with the name; undefined if it is valid. */
  readonly nameProblem: (name: string) => string | undefined;
}

/** Like `byName`, with rules for the names. */
export function byCheckedName<T>(
  readItem: ValueReader<T>,
  { max, nounPlural, nameProblem }: NameRules,
): ValueReader<Readonly<Record<string, T>>> {
  return (entry, context) => {
    const { findings } = context;
    const items = entry.content instanceof Map ? [...entry.content] : [];
    for (const [name, { key, keyAt }] of items) {
      const problem = nameProblem(name);
      if (problem !== undefined) findings.addProblem(keyAt, key, problem);
    }
    // If the map has too many names, this is reported at the first name beyond `max`.
    const [, firstExcess] = items[max] ?? [];
    if (firstExcess !== undefined) {
      const { keyAt, key } = firstExcess;
      findings.addProblem(keyAt, key, `there are ${items.length} ${nounPlural}, ${max} are allowed`);
    }
    return byName(readItem)(entry, context);
  };
}

/** The file may have one value for all names, or a map of values by name. */
export function oneOrByName<T>(readItem: ValueReader<T>): ValueReader<T | Readonly<Record<string, T>>> {
  return (entry, context) => {
    const read = entry.content instanceof Map ? byName(readItem) : readItem;
    return read(entry, context);
  };
}

/**
 * Reads the fields of a map. `readers` has a reader for each field of `T`, even if the field is optional.
 * An unknown field causes only a warning.
 */
export function readFields<T extends object>(
  readers: { readonly [K in keyof T]-?: ValueReader<NonNullable<T[K]>> },
  map: ReadonlyMap<string, ConfigEntry>,
  context: ReadingContext,
): Partial<T> {
  const readersByName = new Map<string, ValueReader<unknown>>(Object.entries(readers));
  const fields = [...map].map(([name, entry]): readonly [string, unknown] => {
    const read = readersByName.get(name);
    if (read === undefined) context.findings.addUnknownKey(entry, [name], [...readersByName.keys()]);
    return [name, read?.(entry, context)];
  });
  // The assertion `as` is true, because each value comes from the reader of its name.
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as Partial<T>;
}

export const label: ValueReader<string> = checkedText('a label', outputLabel);

/** Each of the three fields may be absent. */
export const outputChoice: ValueReader<OutputChoice> = (entry, context) =>
  entry.content instanceof Map
    ? readFields<OutputChoice>({ label, hidden: flag, startVolume: fraction }, entry.content, context)
    : reportExpected('a map of label, hidden and startVolume', entry, context);

/** Returns the member `name` if the list's item is a map with this member, else the item itself. */
export function nameEntry(item: ConfigEntry): ConfigEntry {
  const name = item.content instanceof Map ? item.content.get('name') : undefined;
  return name ?? item;
}
