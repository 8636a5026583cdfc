// Configuration as a tree of values that know where they came from and by which key they were given. Pure; knows no key.

import { type Location, quoted } from './findings.js';

interface ConfigNode {
  readonly at: Location;
  /** Dotted path, as spelled in the file. */
  readonly key: string;
}

export interface ConfigScalar extends ConfigNode {
  readonly kind: 'scalar';
  readonly value: string | number | boolean | null;
}

export interface ConfigList extends ConfigNode {
  readonly kind: 'list';
  readonly items: readonly ConfigValue[];
}

export interface ConfigEntry {
  /** Where the key stands. */
  readonly at: Location;
  readonly key: string;
  readonly value: ConfigValue;
}

export interface ConfigMap extends ConfigNode {
  readonly kind: 'map';
  /** By their names, without the way. */
  readonly entries: ReadonlyMap<string, ConfigEntry>;
}

export type ConfigValue = ConfigScalar | ConfigList | ConfigMap;

export function isNothing(node: ConfigValue): boolean {
  return node.kind === 'scalar' && node.value === null;
}

/** What a value is, for a message: `the text "abc"`, `8018`, `a list`. */
export function described(node: ConfigValue): string {
  if (node.kind !== 'scalar') return `a ${node.kind}`;
  if (isNothing(node)) return 'nothing';
  return typeof node.value === 'string' ? `the text ${quoted(node.value)}` : String(node.value);
}

/**
 * What is left of values that are laid over each other, the first lowest (contract, section 1): maps merge, so all that do
 * are given; lists and scalars replace. An empty value takes nothing away from a map or a list.
 */
export function laidOver(values: readonly ConfigValue[]): readonly ConfigValue[] {
  let left: ConfigValue[] = [];
  for (const value of values) {
    const last = left.at(-1);
    if (value.kind === 'map' && last?.kind === 'map') left.push(value);
    else if (last === undefined || last.kind === 'scalar' || !isNothing(value)) left = [value];
  }
  return left;
}
