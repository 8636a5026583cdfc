// The readers for each kind of value: they check and convert it, or report a problem with its place. Pure.

import type { ControlChoice, OutputChoice, UnitEntry } from '../../protocol/actor/settings.js';
import { describe, type Entry, type Findings, keyPath, quoted } from './findings.js';
import { outputLabel, type TextCheck, unitName, url } from './texts.js';

/** The inputs of a reader besides the value. */
export interface ReadingContext {
  /** Home directory; '' if there is none. */
  readonly home: string;
  readonly findings: Findings;
}

/**
 * Returns undefined, or a part of the value, only after it has reported a problem: all values are dropped
 * then.
 */
export type ValueReader<T> = (entry: Entry, reading: ReadingContext) => T | undefined;

/** Reports a value of the wrong type or out of range. */
export function reportExpected(
  what: string,
  { at, key, content }: Entry,
  { findings }: ReadingContext,
): undefined {
  findings.problem(at, key, `must be ${what}, not ${describe(content)}`);
  return undefined;
}

/** A value of the right kind is taken as it is. */
function ifItIs<T>(what: string, isRight: (content: unknown) => content is T): ValueReader<T> {
  return (entry, reading) => {
    const { content } = entry;
    return isRight(content) ? content : reportExpected(what, entry, reading);
  };
}

export const flag = ifItIs('true or false', (content) => typeof content === 'boolean');

export const control: ValueReader<ControlChoice> = ifItIs(
  'true, false or local',
  (content) => typeof content === 'boolean' || content === 'local',
);

export const integer = (min: number, max: number): ValueReader<number> =>
  ifItIs(
    `a whole number from ${min} to ${max}`,
    (value): value is number => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
  );

export const fraction = ifItIs(
  'a number from 0 to 1',
  (content): content is number => typeof content === 'number' && content >= 0 && content <= 1,
);

const UNIT_SECONDS = { s: 1, m: 60, h: 3600 } as const;

/** Seconds from `90s`, `10m`, `24h`, or a number of seconds; NaN if it is none of these. */
function secondsIn(value: unknown): number {
  if (typeof value === 'number') return value;
  const [, count, letter] = /^(\d{1,6})([smh]?)$/.exec(typeof value === 'string' ? value : '') ?? [];
  return Number(count) * UNIT_SECONDS[letter === 'm' || letter === 'h' ? letter : 's'];
}

/** Whole seconds from `min` to `max`, which are written as in the file. */
export function duration(min: string, max: string): ValueReader<number> {
  return (entry, reading) => {
    const seconds = secondsIn(entry.content);
    return Number.isInteger(seconds) && seconds >= secondsIn(min) && seconds <= secondsIn(max)
      ? seconds
      : reportExpected(`a time from ${min} to ${max}, or seconds`, entry, reading);
  };
}

/** 0 is a value too, and means never. */
export function orZero(read: ValueReader<number>): ValueReader<number> {
  return (entry, reading) => (secondsIn(entry.content) === 0 ? 0 : read(entry, reading));
}

/** One of a few words, case-insensitive. */
export function oneOfWords<const W extends string>(words: readonly W[]): ValueReader<W> {
  return (entry, reading) => {
    const word = words.find((known) => known === String(entry.content).toLowerCase());
    return word ?? reportExpected(`one of ${words.join(', ')}`, entry, reading);
  };
}

/**
 * A text that `check` accepts; `what` describes the kind, with its article. Messages do not show a `secret`
 * text: somebody may have written a password by mistake.
 */
export function checkedText(what: string, check: TextCheck, secret?: 'secret'): ValueReader<string> {
  return (entry, reading) => {
    const { at, key, content } = entry;
    if (typeof content !== 'string' && secret === undefined) return reportExpected(what, entry, reading);
    const text = String(content);
    const verdict = check(text, reading.home);
    if (verdict.ok) return verdict.value;
    const fault = secret === undefined ? `${quoted(text)} is not ${what}` : `must be ${what}`;
    reading.findings.problem(at, key, `${fault}: ${verdict.error}`);
    return undefined;
  };
}

/**
 * A list whose items are read by `item`. An empty value is an empty list, as if all its lines were commented
 * out.
 */
export function listOf<T>(item: ValueReader<T>): ValueReader<readonly T[]> {
  return (entry, reading) => {
    const items = entry.content ?? [];
    if (!Array.isArray(items)) return reportExpected('a list', entry, reading);
    return items.map((each) => item(each, reading)).filter((value) => value !== undefined);
  };
}

/** A list of different texts. */
export function differentTexts(item: ValueReader<string>): ValueReader<readonly string[]> {
  return (list, reading) => {
    const lines = new Map<string, number>();
    const newItem: ValueReader<string> = (entry, context) => {
      const text = item(entry, context);
      if (text === undefined) return undefined;
      const first = lines.get(text);
      if (first === undefined) lines.set(text, entry.at.line);
      else context.findings.problem(entry.at, entry.key, `${text} is listed twice, first on line ${first}`);
      return text;
    };
    return listOf(newItem)(list, reading);
  };
}

/** A list of different texts, at most `max`. */
export function setOf(max: number, item: ValueReader<string>): ValueReader<readonly string[]> {
  const readItems = differentTexts(item);
  return (list, reading) => {
    const items = readItems(list, reading);
    if (items !== undefined && items.length > max)
      reading.findings.problem(list.at, list.key, `has ${items.length} items, at most ${max} are allowed`);
    return items;
  };
}

/** True, false, or a list whose items are read by `item`. */
export function flagOrList<T>(item: ValueReader<T>): ValueReader<boolean | readonly T[]> {
  return (entry, reading) => {
    const { content } = entry;
    if (typeof content === 'boolean') return content;
    return Array.isArray(content)
      ? listOf(item)(entry, reading)
      : reportExpected('true, false or a list', entry, reading);
  };
}

/** One item or a list of at least one. */
export function oneOrMore<T>(item: ValueReader<T>): ValueReader<readonly T[]> {
  return (entry, reading) => {
    const content = Array.isArray(entry.content) ? entry.content : [entry];
    if (content.length === 0) reading.findings.problem(entry.at, entry.key, 'must not be an empty list');
    return listOf(item)({ ...entry, content }, reading);
  };
}

/**
 * A map with the administrator's own names, whose values are read by `item`; an empty value is an empty map.
 */
export function byName<T>(item: ValueReader<T>): ValueReader<Readonly<Record<string, T>>> {
  return (entry, reading) => {
    const map = entry.content ?? new Map<string, Entry>();
    if (!(map instanceof Map)) return reportExpected('a map by name', entry, reading);
    const read = [...map].map(([name, each]) => [name, item(each, reading)] as const);
    return Object.fromEntries(read.filter((entry): entry is readonly [string, T] => entry[1] !== undefined));
  };
}

/** One value for all, or a map of values by name. */
export function oneOrByName<T>(item: ValueReader<T>): ValueReader<T | Readonly<Record<string, T>>> {
  return (entry, reading) => (entry.content instanceof Map ? byName(item) : item)(entry, reading);
}

/** The fields of a map that are given, by name. Unknown fields are only a warning. */
export function readFields<T extends object>(
  readers: { readonly [K in keyof T]-?: ValueReader<NonNullable<T[K]>> },
  map: ReadonlyMap<string, Entry>,
  reading: ReadingContext,
): Partial<T> {
  const known = new Map<string, ValueReader<unknown>>(Object.entries(readers));
  const fields = [...map].map(([name, entry]): readonly [string, unknown] => {
    const read = known.get(name);
    if (read === undefined) reading.findings.unknownKey(entry, [name], [...known.keys()]);
    return [name, read?.(entry, reading)];
  });
  // The types do not show that each value comes from the reader of its name.
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as Partial<T>;
}

export const label: ValueReader<string> = checkedText('a label', outputLabel);

/** `{label, hidden, startVolume}`, any of them. */
export const outputChoice: ValueReader<OutputChoice> = (entry, reading) =>
  entry.content instanceof Map
    ? readFields<OutputChoice>({ label, hidden: flag, startVolume: fraction }, entry.content, reading)
    : reportExpected('a map of label, hidden and startVolume', entry, reading);

export const unit: ValueReader<string> = checkedText('a unit name', unitName);

/** `mpd.service` or `{name, url}`. */
const listedUnit: ValueReader<UnitEntry> = (entry, reading) => {
  const { at, key, content } = entry;
  if (Array.isArray(content)) return reportExpected('a unit name or a map of name and url', entry, reading);
  if (!(content instanceof Map)) {
    const name = unit(entry, reading);
    return name === undefined ? undefined : { name };
  }
  if (!content.has('name')) reading.findings.problem(at, keyPath(key, 'name'), 'is required');
  const fields = readFields<UnitEntry>({ name: unit, url: checkedText('a URL', url) }, content, reading);
  return fields.name === undefined ? undefined : { ...fields, name: fields.name };
};

/** Units of one scope, in order; the same name twice is a problem. */
export const units: ValueReader<readonly UnitEntry[]> = (list, reading) => {
  const lines = new Map<string, number>();
  const newUnit: ValueReader<UnitEntry> = (entry, context) => {
    const listed = listedUnit(entry, context);
    if (listed === undefined) return undefined;
    const { at, key } = nameOfUnit(entry);
    const first = lines.get(listed.name);
    if (first === undefined) lines.set(listed.name, at.line);
    else context.findings.problem(at, key, `${listed.name} is listed twice, first on line ${first}`);
    return listed;
  };
  return listOf(newUnit)(list, reading);
};

/** The name of a listed unit, with its place. */
export function nameOfUnit(entry: Entry): Entry {
  return (entry.content instanceof Map ? entry.content.get('name') : undefined) ?? entry;
}
