// What must hold between keys of the configuration, and what is merely odd between them. Pure.

import type { Settings } from '../../protocol/actor/settings.js';
import type { Place, Report } from './findings.js';
import type { Key } from './keys.js';
import type { ConfigEntry } from './tree.js';
import { namedItems } from './units.js';

/** A key that is given: what it holds, and its dotted path as spelled. */
export interface Given {
  readonly entry: ConfigEntry;
  readonly key: string;
}

type Find = (key: Key) => Given | undefined;

const UPGRADE_UNITS = ['upgrade.checkUnit', 'upgrade.upgradeUnit'] as const;
const WHITELISTS = ['systemd.system', 'systemd.user'] as const;

/** The files of the upgrade backend, with how to find each: two writers of one file would destroy it. */
const UPGRADE_FILES = ['upgrade.resultFile', 'upgrade.progressSocket', 'upgrade.stateFile'] as const;

export function reportConflicts(settings: Settings, find: Find, report: Report): void {
  requireResultFile(settings, find, report);
  requireSeparateFiles(settings, find, report);
  warnOfInternalUnits(find, report);
  warnOfSameUnit(settings, find, report);
}

function requireResultFile({ upgrade }: Settings, find: Find, report: Report): void {
  const enabled = find('upgrade.enabled');
  // A result file that is given but wrong has been reported for what it is.
  if (!upgrade.enabled || enabled === undefined || find('upgrade.resultFile') !== undefined) return;
  report.problem(enabled.entry.value.at, 'upgrade.resultFile', 'is required when upgrade.enabled is true');
}

function requireSeparateFiles({ upgrade }: Settings, find: Find, report: Report): void {
  const paths = [upgrade.resultFile, upgrade.progressSocket, upgrade.stateFile];
  const seen = new Map<string, Key>();
  for (const [index, key] of UPGRADE_FILES.entries()) {
    const path = paths[index];
    if (path === undefined) continue;
    const other = seen.get(path);
    // One of the two may be a default, which has no place.
    const at = find(key) ?? (other && find(other));
    if (other !== undefined && at !== undefined) {
      report.problem(at.entry.value.at, at.key, `${key} and ${other} are the same file`);
    }
    seen.set(path, key);
  }
}

/** Such a unit is hidden from `/services` (contract, section 1): whoever listed it may wonder where it is. */
function warnOfInternalUnits(find: Find, report: Report): void {
  for (const owner of UPGRADE_UNITS) {
    const unit = find(owner)?.entry.value;
    if (unit?.kind !== 'scalar') continue;
    for (const list of WHITELISTS) {
      const listed = find(list);
      const items = listed === undefined ? [] : namedItems(listed.entry.value, listed.key);
      for (const { name, key, at } of items) {
        if (name === unit.value) report.warning(at, key, hidden(name, owner));
      }
    }
  }
}

function hidden(name: string, owner: Key): string {
  return `${name} is ${owner}, so it stays hidden from /services`;
}

function warnOfSameUnit({ upgrade }: Settings, find: Find, report: Report): void {
  const { checkUnit, upgradeUnit } = upgrade;
  const at: Place | undefined = find('upgrade.upgradeUnit')?.entry.value.at;
  if (upgradeUnit === undefined || upgradeUnit !== checkUnit || at === undefined) return;
  report.warning(
    at,
    'upgrade.upgradeUnit',
    'is also upgrade.checkUnit, so that every check starts an upgrade',
  );
}
