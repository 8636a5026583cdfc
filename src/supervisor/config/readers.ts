// How each kind of value is read out of the tree: it is checked, made plain, or reported with its place. Pure.

import type { UnitEntry } from '../../protocol/actor/settings.js';
import { described, type Findings, keyPath, type Location, nearestKey, quoted } from './findings.js';
import { type TextCheck, unitName } from './texts.js';
import type { ConfigMap, ConfigValue } from './yaml.js';

/** What a reader knows besides the value. */
export interface ReadingContext {
  /** Home directory; '' when there is none. */
  readonly home: string;
  readonly findings: Findings;
}

/** Answers with nothing only after it has reported a problem. */
export type ValueReader<T> = (node: ConfigValue, reading: ReadingContext) => T | undefined;

/** Reports a value of the wrong type or out of range. */
function expected(what: string, node: ConfigValue, { findings }: ReadingContext): undefined {
  findings.problem(node.at, node.key, `must be ${what}, not ${described(node)}`);
  return undefined;
}

export function isNothing(node: ConfigValue): boolean {
  return node.kind === 'scalar' && node.value === null;
}

function textIn(node: ConfigValue | undefined): string | undefined {
  return node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined;
}

export const flag: ValueReader<boolean> = (node, reading) =>
  node.kind === 'scalar' && typeof node.value === 'boolean'
    ? node.value
    : expected('true or false', node, reading);

export function integer(min: number, max: number): ValueReader<number> {
  return (node, reading) => {
    const value = node.kind === 'scalar' && Number.isInteger(node.value) ? Number(node.value) : Number.NaN;
    return value >= min && value <= max
      ? value
      : expected(`a whole number from ${min} to ${max}`, node, reading);
  };
}

/** One of a few words; upper and lower case are the same. */
export function oneOfWords<W extends string>(words: readonly W[]): ValueReader<W> {
  return (node, reading) => {
    const text = textIn(node)?.toLowerCase();
    return words.find((known) => known === text) ?? expected(`one of ${words.join(', ')}`, node, reading);
  };
}

/** A text that `check` accepts; `what` names the kind, with its article. */
export function checkedText(what: string, check: TextCheck): ValueReader<string> {
  return (node, reading) => {
    const value = textIn(node);
    if (value === undefined) return expected(what, node, reading);
    const verdict = check(value, reading.home);
    if ('value' in verdict) return verdict.value;
    reading.findings.problem(node.at, node.key, `${quoted(value)} is not ${what}: ${verdict.wrong}`);
    return undefined;
  };
}

/** As `checkedText`, where somebody may have written a secret by mistake: what is wrong is told without it. */
export function hiddenText(what: string, check: TextCheck): ValueReader<string> {
  return (node, reading) => {
    const verdict = check(textIn(node) ?? '', reading.home);
    if ('value' in verdict) return verdict.value;
    reading.findings.problem(node.at, node.key, `must be ${what}: ${verdict.wrong}`);
    return undefined;
  };
}

/** A list whose every item is read; an empty value is an empty list, as when all its lines are commented out. */
export function listOf<T>(item: ValueReader<T>): ValueReader<readonly T[]> {
  return (node, reading) => {
    if (isNothing(node)) return [];
    if (node.kind !== 'list') return expected('a list', node, reading);
    const values = node.items.map((each) => item(each, reading)).filter((value) => value !== undefined);
    return values.length === node.items.length ? values : undefined;
  };
}

/** One item or a list of at least one. */
export function oneOrMore<T>(item: ValueReader<T>): ValueReader<readonly T[]> {
  return (node, reading) => {
    if (node.kind !== 'list') {
      const value = item(node, reading);
      return value === undefined ? undefined : [value];
    }
    if (node.items.length > 0) return listOf(item)(node, reading);
    reading.findings.problem(node.at, node.key, 'must not be an empty list');
    return undefined;
  };
}

const UNIT_KEYS = ['name', 'url'];

export const unit: ValueReader<string> = checkedText('a unit name', unitName);

const url: ValueReader<string> = checkedText('a URL', (value) =>
  value === '' ? { wrong: 'it is empty' } : { value },
);

/** `mpd.service` or `{name, url}`. */
const listedUnit: ValueReader<UnitEntry> = (node, reading) => {
  if (node.kind === 'map') return unitWithUrl(node, reading);
  if (node.kind === 'list') return expected('a unit name or a map of name and url', node, reading);
  const name = unit(node, reading);
  return name === undefined ? undefined : { name };
};

function unitWithUrl({ entries, at, key }: ConfigMap, reading: ReadingContext): UnitEntry | undefined {
  for (const [spelled, entry] of entries) {
    if (UNIT_KEYS.includes(spelled)) continue;
    const hint = `unknown key; the nearest known key is ${nearestKey([spelled], UNIT_KEYS)}`;
    reading.findings.warning(entry.at, entry.key, hint);
  }
  const given = entries.get('name');
  if (given === undefined) reading.findings.problem(at, keyPath(key, 'name'), 'is required');
  const name = given && unit(given.value, reading);
  const link = entries.get('url');
  const address = link && url(link.value, reading);
  if (name === undefined || (link !== undefined && address === undefined)) return undefined;
  return address === undefined ? { name } : { name, url: address };
}

/** Units of one scope, in their order; the same name twice is a problem. */
export const units: ValueReader<readonly UnitEntry[]> = (node, reading) => {
  const read = listOf(listedUnit)(node, reading);
  const first = new Map<string, Location>();
  for (const { name, at, key } of soundNames(node)) {
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, at);
    else reading.findings.problem(at, key, `${name} is listed twice, first on line ${earlier.line}`);
  }
  return read;
};

/** Every item of a list of units whose name is sound, with the place and key of the name. */
export function soundNames(
  node: ConfigValue,
): readonly { readonly name: string; readonly at: Location; readonly key: string }[] {
  if (node.kind !== 'list') return [];
  return node.items.flatMap((item) => {
    const named = item.kind === 'map' ? item.entries.get('name')?.value : item;
    const name = textIn(named);
    if (named === undefined || name === undefined || !('value' in unitName(name))) return [];
    return [{ name, at: named.at, key: named.key }];
  });
}
