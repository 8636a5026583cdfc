// The effective configuration as YAML, which loads to the same settings again. Pure. It brings `yaml` along: import it only to print.

import { stringify } from 'yaml';
import type { Settings } from '../../protocol/actor/settings.js';
import { valuesOf } from './values.js';

interface Section {
  [name: string]: unknown;
}

/** Every key that has a value, under the names of contract section 1, as one YAML document. */
export function effectiveYaml(settings: Settings): string {
  const root: Section = {};
  for (const [path, value] of Object.entries(valuesOf(settings))) {
    if (value === undefined) continue;
    const names = path.split('.');
    const last = names.pop() ?? path;
    sectionAt(root, names)[last] = printed(value);
  }
  // Folded lines are correct YAML but hard to grep.
  return stringify(root, { version: '1.2', schema: 'core', lineWidth: 0, aliasDuplicateObjects: false });
}

function sectionAt(root: Section, names: readonly string[]): Section {
  let section = root;
  for (const name of names) {
    const inner = section[name];
    const next: Section = isSection(inner) ? inner : {};
    section[name] = next;
    section = next;
  }
  return section;
}

function isSection(value: unknown): value is Section {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A unit without an address is printed as its bare name, as people write it. */
function printed(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((item: unknown) => (isSection(item) && item['url'] === undefined ? item['name'] : item));
}
