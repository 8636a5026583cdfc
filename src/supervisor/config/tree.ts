// Configuration as a tree of values that know where they came from, and how files are laid over each other. Pure; knows no key.

import { keyPath, type Place, quoted, type Report } from './findings.js';

interface ConfigScalar {
  readonly kind: 'scalar';
  readonly at: Place;
  readonly value: string | number | boolean | null;
}

interface ConfigList {
  readonly kind: 'list';
  readonly at: Place;
  readonly items: readonly ConfigNode[];
}

export interface ConfigEntry {
  /** Where the key stands. */
  readonly at: Place;
  /** The key as it was written, which may be another name of the one it is filed under. */
  readonly spelled: string;
  readonly value: ConfigNode;
}

export interface ConfigMap {
  readonly kind: 'map';
  readonly at: Place;
  readonly entries: ReadonlyMap<string, ConfigEntry>;
}

export type ConfigNode = ConfigScalar | ConfigList | ConfigMap;

export function isNull(node: ConfigNode): boolean {
  return node.kind === 'scalar' && node.value === null;
}

/** What a value is, for a message: `the text "abc"`, `8018`, `a list`. */
export function described(node: ConfigNode): string {
  if (node.kind !== 'scalar') return `a ${node.kind}`;
  if (node.value === null) return 'nothing';
  return typeof node.value === 'string' ? `the text ${quoted(node.value)}` : String(node.value);
}

/** The map with its top keys filed under their proper names; a second spelling of one that is there is a problem. */
export function withProperNames(
  root: ConfigMap,
  otherNames: ReadonlyMap<string, string>,
  report: Report,
): ConfigMap {
  const entries = new Map<string, ConfigEntry>();
  for (const [spelled, entry] of root.entries) {
    const name = otherNames.get(spelled) ?? spelled;
    const earlier = entries.get(name);
    if (earlier === undefined) entries.set(name, entry);
    else reportSecondSpelling(earlier, entry, report);
  }
  return { ...root, entries };
}

/** `over` laid over `base`: maps merge, lists and scalars replace (contract, section 1). An empty value takes nothing away from a map or a list. */
function merged(base: ConfigNode, over: ConfigNode, report: Report): ConfigNode {
  if (base.kind === 'map' && over.kind === 'map') return mergedMaps(base, over, report);
  return isNull(over) && base.kind !== 'scalar' ? base : over;
}

export function mergedMaps(base: ConfigMap, over: ConfigMap, report: Report): ConfigMap {
  const entries = new Map(base.entries);
  for (const [name, entry] of over.entries) {
    const earlier = entries.get(name);
    if (earlier !== undefined && earlier.spelled !== entry.spelled)
      reportSecondSpelling(earlier, entry, report);
    const value = earlier === undefined ? entry.value : merged(earlier.value, entry.value, report);
    entries.set(name, { ...entry, value });
  }
  return { ...over, entries };
}

function reportSecondSpelling(earlier: ConfigEntry, later: ConfigEntry, report: Report): void {
  const first = `${keyPath('', earlier.spelled)}, which is given at ${earlier.at.file}:${earlier.at.line}`;
  report.problem(later.at, keyPath('', later.spelled), `is another spelling of ${first}; use one of them`);
}
