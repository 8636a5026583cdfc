// Tree -> settings: every key is read by its row of the table, then the rules between keys are applied. Pure.

import type { Settings } from '../../protocol/actor/settings.js';
import type { Directories } from './directories.js';
import { keyPath, type Report } from './findings.js';
import { isKey, KEYS, type Key, SECTION_ALIASES, SECTIONS, type Values } from './keys.js';
import { nearestKey } from './nearest.js';
import { type Given, reportConflicts } from './rules.js';
import { type ConfigMap, described, isNull } from './tree.js';
import { settingsFrom } from './values.js';

const KNOWN_PATHS = [...Object.keys(KEYS), ...SECTIONS, ...SECTION_ALIASES.keys()];

/** Settings, complete when `report` has received no problem. Without a tree: the defaults. */
export function judge(root: ConfigMap | undefined, directories: Directories, report: Report): Settings {
  const find = (key: Key): Given | undefined => root && given(root, key);
  if (root !== undefined) checkSection(root, '', '', report);
  const settings = settingsFrom(<K extends Key>(key: K): Values[K] => {
    const row = KEYS[key];
    const found = find(key);
    const value = found && row.read(found.entry.value, { key: found.key, home: directories.home, report });
    return value ?? row.byDefault(directories);
  });
  reportConflicts(settings, find, report);
  return settings;
}

function given(root: ConfigMap, key: Key): Given | undefined {
  let map = root;
  let path = '';
  const names = key.split('.');
  for (const name of names.slice(0, -1)) {
    const section = map.entries.get(name);
    if (section?.value.kind !== 'map') return undefined;
    path = keyPath(path, section.spelled);
    map = section.value;
  }
  const entry = map.entries.get(names.at(-1) ?? '');
  return entry && { entry, key: keyPath(path, entry.spelled) };
}

/** Reports keys that nobody reads, and values where a section should be. `path` is the proper path, `shown` the spelled one. */
function checkSection(section: ConfigMap, path: string, shown: string, report: Report): void {
  for (const [name, entry] of section.entries) {
    const inner = path === '' ? name : `${path}.${name}`;
    const key = keyPath(shown, entry.spelled);
    if (isKey(inner)) continue;
    if (!SECTIONS.has(inner)) {
      const near = nearestKey(inner.split('.'), KNOWN_PATHS);
      report.warning(entry.at, key, `unknown key; the nearest known key is ${near}`);
    } else if (entry.value.kind === 'map') checkSection(entry.value, inner, key, report);
    else if (!isNull(entry.value)) {
      report.problem(entry.value.at, key, `must be a map of keys, not ${described(entry.value)}`);
    }
  }
}
