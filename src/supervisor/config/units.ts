// Readers of unit names and of lists of units: `mpd.service` or `{name, url}`. Pure.

import { keyPath, type Place } from './findings.js';
import { nearestKey } from './nearest.js';
import { expected, listOf, type Reader, type Reading, text } from './readers.js';
import type { ConfigMap, ConfigNode } from './tree.js';
import { unitNameFault } from './unit-name.js';

/** As protocol/actor's UnitEntry. */
interface Unit {
  readonly name: string;
  readonly url?: string;
}

const UNIT_KEYS = ['name', 'url'];

export const unitName: Reader<string> = text('a unit name', (name) => {
  const wrong = unitNameFault(name);
  return wrong === undefined ? { value: name } : { wrong };
});

const url: Reader<string> = text('a URL', (value) => (value === '' ? { wrong: 'it is empty' } : { value }));

/** The node that holds an item's name, with its key; nothing if there is none. */
function nameOf(
  item: ConfigNode,
  key: string,
): { readonly node: ConfigNode; readonly key: string } | undefined {
  if (item.kind !== 'map') return { node: item, key };
  const entry = item.entries.get('name');
  return entry && { node: entry.value, key: keyPath(key, 'name') };
}

const unit: Reader<Unit> = (node, reading) => {
  if (node.kind === 'map') return namedUnit(node, reading);
  if (node.kind === 'list') return expected('a unit name or a map of name and url', node, reading);
  const name = unitName(node, reading);
  return name === undefined ? undefined : { name };
};

function namedUnit(node: ConfigMap, reading: Reading): Unit | undefined {
  for (const [key, entry] of node.entries) {
    if (UNIT_KEYS.includes(key)) continue;
    const hint = `unknown key; the nearest known key is ${nearestKey([key], UNIT_KEYS)}`;
    reading.report.warning(entry.at, keyPath(reading.key, key), hint);
  }
  const name = nameOf(node, reading.key);
  if (name === undefined) {
    reading.report.problem(node.at, keyPath(reading.key, 'name'), 'is required');
  }
  const given = name && unitName(name.node, { ...reading, key: name.key });
  const link = node.entries.get('url');
  if (link === undefined) return given === undefined ? undefined : { name: given };
  const address = url(link.value, { ...reading, key: keyPath(reading.key, 'url') });
  return given === undefined || address === undefined ? undefined : { name: given, url: address };
}

/** Units of one scope, in their order; the same name twice is a problem. */
export const units: Reader<readonly Unit[]> = (node, reading) => {
  const read = listOf(unit)(node, reading);
  const first = new Map<string, Place>();
  for (const { name, key, at } of namedItems(node, reading.key)) {
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, at);
    else reading.report.problem(at, key, `${name} is listed twice, first on line ${earlier.line}`);
  }
  return read;
};

/** Every item of a list of units whose name is sound, with the place of the name. */
export function namedItems(
  node: ConfigNode,
  key: string,
): readonly { readonly name: string; readonly key: string; readonly at: Place }[] {
  if (node.kind !== 'list') return [];
  return node.items.flatMap((item, index) => {
    const named = nameOf(item, `${key}[${index}]`);
    if (named?.node.kind !== 'scalar' || typeof named.node.value !== 'string') return [];
    if (unitNameFault(named.node.value) !== undefined) return [];
    return [{ name: named.node.value, key: named.key, at: named.node.at }];
  });
}
