// The readers for each kind of value: they check and convert it, or report a problem with its place. Pure.

import type { OutputChoice, UnitEntry } from '../../protocol/actor/settings.js';
import { type ConfigValue, isPlainMap } from './config-value.js';
import { describe, type Findings, keyPath, type Location, nearestKey, quoted } from './findings.js';
import { outputLabel, type TextCheck, unitName } from './texts.js';

/** The inputs of a reader besides the value. */
export interface ReadingContext {
  /** Home directory; '' if there is none. */
  readonly home: string;
  readonly findings: Findings;
}

/** Returns undefined only after it has reported a problem. */
export type ValueReader<T> = (given: ConfigValue, reading: ReadingContext) => T | undefined;

/** Reports a value of the wrong type or out of range. */
function reportExpected(
  what: string,
  { at, key, value }: ConfigValue,
  { findings }: ReadingContext,
): undefined {
  findings.problem(at, key, `must be ${what}, not ${describe(value)}`);
  return undefined;
}

function textIn({ value }: ConfigValue): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export const flag: ValueReader<boolean> = (given, reading) =>
  typeof given.value === 'boolean' ? given.value : reportExpected('true or false', given, reading);

export function integer(min: number, max: number): ValueReader<number> {
  return (given, reading) => {
    const { value } = given;
    return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
      ? value
      : reportExpected(`a whole number from ${min} to ${max}`, given, reading);
  };
}

export const fraction: ValueReader<number> = (given, reading) => {
  const { value } = given;
  return typeof value === 'number' && value >= 0 && value <= 1
    ? value
    : reportExpected('a number from 0 to 1', given, reading);
};

const UNIT_SECONDS = { s: 1, m: 60, h: 3600 } as const;

/** Seconds from `90s`, `10m`, `24h`, or a number of seconds; NaN if it is none of these. */
function secondsIn(value: unknown): number {
  if (typeof value === 'number') return value;
  const [, count, letter] = /^(\d{1,6})([smh]?)$/.exec(typeof value === 'string' ? value : '') ?? [];
  return Number(count) * UNIT_SECONDS[letter === 'm' || letter === 'h' ? letter : 's'];
}

/** Whole seconds from `min` to `max`, which are written as in the file. */
export function duration(min: string, max: string): ValueReader<number> {
  return (given, reading) => {
    const seconds = secondsIn(given.value);
    return Number.isInteger(seconds) && seconds >= secondsIn(min) && seconds <= secondsIn(max)
      ? seconds
      : reportExpected(`a time from ${min} to ${max}, or seconds`, given, reading);
  };
}

/** 0 is a value too, and means never. */
export function orZero(read: ValueReader<number>): ValueReader<number> {
  return (given, reading) => (secondsIn(given.value) === 0 ? 0 : read(given, reading));
}

/** One of a few words, case-insensitive. */
export function oneOfWords<W extends string>(words: readonly W[]): ValueReader<W> {
  return (given, reading) => {
    const text = textIn(given)?.toLowerCase();
    return (
      words.find((known) => known === text) ?? reportExpected(`one of ${words.join(', ')}`, given, reading)
    );
  };
}

/** A text that `check` accepts; `what` describes the kind, with its article. */
export function checkedText(what: string, check: TextCheck): ValueReader<string> {
  return (given, reading) => {
    const value = textIn(given);
    if (value === undefined) return reportExpected(what, given, reading);
    const verdict = check(value, reading.home);
    if ('value' in verdict) return verdict.value;
    reading.findings.problem(given.at, given.key, `${quoted(value)} is not ${what}: ${verdict.wrong}`);
    return undefined;
  };
}

/** Like `checkedText`, but messages do not show the text, because somebody may have written a secret by mistake. */
export function hiddenText(what: string, check: TextCheck): ValueReader<string> {
  return (given, reading) => {
    const verdict = check(textIn(given) ?? '', reading.home);
    if ('value' in verdict) return verdict.value;
    reading.findings.problem(given.at, given.key, `must be ${what}: ${verdict.wrong}`);
    return undefined;
  };
}

/** A list whose items are read by `item`. An empty value is an empty list, as if all its lines were commented out. */
export function listOf<T>(item: ValueReader<T>): ValueReader<readonly T[]> {
  return (given, reading) => {
    if (given.value === null) return [];
    const { items } = given;
    if (items === undefined) return reportExpected('a list', given, reading);
    const values = items.map((each) => item(each, reading)).filter((value) => value !== undefined);
    return values.length === items.length ? values : undefined;
  };
}

/** One item or a list of at least one. */
export function oneOrMore<T>(item: ValueReader<T>): ValueReader<readonly T[]> {
  return (given, reading) => {
    if (given.items === undefined) {
      const value = item(given, reading);
      return value === undefined ? undefined : [value];
    }
    if (given.items.length > 0) return listOf(item)(given, reading);
    reading.findings.problem(given.at, given.key, 'must not be an empty list');
    return undefined;
  };
}

/** A map with the administrator's own names, whose values are read by `item`; an empty value is an empty map. */
export function byName<T>(item: ValueReader<T>): ValueReader<Readonly<Record<string, T>>> {
  return (given, reading) => {
    if (given.value === null) return {};
    if (!isPlainMap(given.value)) return reportExpected('a map by name', given, reading);
    const read = given.entries.map(([name, each]) => [name, item(each, reading)] as const);
    const sound = read.filter((entry): entry is readonly [string, T] => entry[1] !== undefined);
    return sound.length === read.length ? Object.fromEntries(sound) : undefined;
  };
}

/** One value for all, or a map of values by name. */
export function oneOrByName<T>(item: ValueReader<T>): ValueReader<T | Readonly<Record<string, T>>> {
  return (given, reading) => (isPlainMap(given.value) ? byName(item)(given, reading) : item(given, reading));
}

/** The fields of a map that are given, by name. Undefined if one of them is wrong; unknown fields are only a warning. */
function readFields<T extends object>(
  readers: { readonly [K in keyof T]-?: ValueReader<NonNullable<T[K]>> },
  given: ConfigValue,
  reading: ReadingContext,
): Partial<T> | undefined {
  const known = new Map<string, ValueReader<unknown>>(Object.entries(readers));
  const fields = given.entries.map(([spelled, each]) => {
    const read = known.get(spelled);
    if (read !== undefined) return [spelled, read(each, reading)] as const;
    const hint = `unknown key; the nearest known key is ${nearestKey([spelled], [...known.keys()])}`;
    reading.findings.warning(each.keyAt, each.key, hint);
    return undefined;
  });
  const read = fields.filter((field) => field !== undefined);
  if (read.some(([, value]) => value === undefined)) return undefined;
  // The types do not show that each value comes from the reader of its name.
  return Object.fromEntries(read) as Partial<T>;
}

const label: ValueReader<string> = checkedText('a label', outputLabel);

/** `{label, hidden}`, both or one of them. */
export const outputChoice: ValueReader<OutputChoice> = (given, reading) =>
  isPlainMap(given.value)
    ? readFields<OutputChoice>({ label, hidden: flag }, given, reading)
    : reportExpected('a map of label and hidden', given, reading);

export const unit: ValueReader<string> = checkedText('a unit name', unitName);

const url: ValueReader<string> = checkedText('a URL', (value) =>
  value === '' ? { wrong: 'it is empty' } : { value },
);

/** `mpd.service` or `{name, url}`. */
const listedUnit: ValueReader<UnitEntry> = (given, reading) => {
  if (isPlainMap(given.value)) return unitWithUrl(given, reading);
  if (given.items !== undefined)
    return reportExpected('a unit name or a map of name and url', given, reading);
  const name = unit(given, reading);
  return name === undefined ? undefined : { name };
};

function unitWithUrl(given: ConfigValue, reading: ReadingContext): UnitEntry | undefined {
  if (!given.entries.some(([spelled]) => spelled === 'name'))
    reading.findings.problem(given.at, keyPath(given.key, 'name'), 'is required');
  const fields = readFields<UnitEntry>({ name: unit, url }, given, reading);
  return fields?.name === undefined ? undefined : { ...fields, name: fields.name };
}

/** Units of one scope, in order; the same name twice is a problem. */
export const units: ValueReader<readonly UnitEntry[]> = (given, reading) => {
  const read = listOf(listedUnit)(given, reading);
  const first = new Map<string, Location>();
  for (const { name, at, key } of soundNames(given)) {
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, at);
    else reading.findings.problem(at, key, `${name} is listed twice, first on line ${earlier.line}`);
  }
  return read;
};

/** The valid unit names in a list of units, each with its place and key. */
export function soundNames(
  given: ConfigValue,
): readonly { readonly name: string; readonly at: Location; readonly key: string }[] {
  return (given.items ?? []).flatMap((item) => {
    const named = item.entries.find(([spelled]) => spelled === 'name')?.[1] ?? item;
    const name = textIn(named);
    if (name === undefined || !('value' in unitName(name))) return [];
    return [{ name, at: named.at, key: named.key }];
  });
}
