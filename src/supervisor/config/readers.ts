// How each kind of value is read out of the tree: it is checked, made plain, or reported with its place. Pure.

import { quoted, type Report } from './findings.js';
import { type ConfigNode, described, isNull } from './tree.js';

/** A text's fate: what it means, or why it means nothing. */
export type Verdict<T> = { readonly value: T } | { readonly wrong: string };

/** What a reader knows besides the value. */
export interface Reading {
  /** Dotted path, as spelled. */
  readonly key: string;
  /** Home directory; '' when there is none. */
  readonly home: string;
  readonly report: Report;
}

/** Answers with nothing only after it has reported a problem. */
export type Reader<T> = (node: ConfigNode, reading: Reading) => T | undefined;

/** Reports a value of the wrong type or out of range. */
export function expected(what: string, node: ConfigNode, reading: Reading): undefined {
  reading.report.problem(node.at, reading.key, `must be ${what}, not ${described(node)}`);
  return undefined;
}

export const flag: Reader<boolean> = (node, reading) =>
  node.kind === 'scalar' && typeof node.value === 'boolean'
    ? node.value
    : expected('true or false', node, reading);

export function integer(min: number, max: number): Reader<number> {
  return (node, reading) =>
    node.kind === 'scalar' &&
    Number.isInteger(node.value) &&
    Number(node.value) >= min &&
    Number(node.value) <= max
      ? Number(node.value)
      : expected(`a whole number from ${min} to ${max}`, node, reading);
}

/** One of a few words; upper and lower case are the same. */
export function word<W extends string>(words: readonly W[]): Reader<W> {
  return (node, reading) => {
    const text =
      node.kind === 'scalar' && typeof node.value === 'string' ? node.value.toLowerCase() : undefined;
    return words.find((known) => known === text) ?? expected(`one of ${words.join(', ')}`, node, reading);
  };
}

/** A text that `check` accepts; `what` names the kind, with its article. */
export function text<T>(what: string, check: (value: string, home: string) => Verdict<T>): Reader<T> {
  return (node, reading) => {
    if (node.kind !== 'scalar' || typeof node.value !== 'string') return expected(what, node, reading);
    const verdict = check(node.value, reading.home);
    if ('value' in verdict) return verdict.value;
    reading.report.problem(node.at, reading.key, `${quoted(node.value)} is not ${what}: ${verdict.wrong}`);
    return undefined;
  };
}

/** A list whose every item is read; an empty value is an empty list, as when all its lines are commented out. */
export function listOf<T>(item: Reader<T>): Reader<readonly T[]> {
  return (node, reading) => {
    if (isNull(node)) return [];
    if (node.kind !== 'list') return expected('a list', node, reading);
    const values = node.items.map((each, index) =>
      item(each, { ...reading, key: `${reading.key}[${index}]` }),
    );
    const whole = values.filter((value) => value !== undefined);
    return whole.length === values.length ? whole : undefined;
  };
}

/** One item or a list of at least one. */
export function oneOrMore<T>(item: Reader<T>): Reader<readonly T[]> {
  return (node, reading) => {
    if (node.kind === 'list') {
      if (node.items.length > 0) return listOf(item)(node, reading);
      reading.report.problem(node.at, reading.key, 'must not be an empty list');
      return undefined;
    }
    const value = item(node, reading);
    return value === undefined ? undefined : [value];
  };
}
