// Turns the texts of the configuration's files into settings, or into a list of problems. It also checks the
// rules that concern two keys. Pure.

import { posix } from 'node:path';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import type { Settings } from '../../protocol/actor/settings.js';
import { type ConfigEntry, describe, Findings } from './findings.js';
import {
  type Environment,
  isRow,
  KEYS,
  type KeyTable,
  type KeyValues,
  pathsIn,
  SECTION_ALIASES,
  settingsOf,
} from './keys.js';
import { nameEntry } from './readers.js';

export interface ConfigFile {
  /** The path as messages write it. */
  readonly path: string;
  readonly text: string;
}

export interface Configuration {
  readonly settings: Settings;
  /** The values from which `settings` are made. They have the names and the nesting of a file's keys. */
  readonly values: KeyValues;
  /** Lines as in `WrongConfiguration`. */
  readonly warnings: readonly string[];
}

/**
 * Problems and warnings are lines `FILE:LINE:COL: key: what is wrong`, in the order of the files. If a file
 * cannot be read, its line is `FILE: what is wrong`.
 */
export interface WrongConfiguration {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

const KNOWN_PATHS = [...pathsIn(KEYS), ...SECTION_ALIASES.keys()];

/** `files` have ascending priority, so the main file is first. Without files the defaults apply. */
export async function resolve(
  files: readonly ConfigFile[],
  environment: Environment,
): Promise<Result<Configuration, WrongConfiguration>> {
  const findings = new Findings(files.map(({ path }) => path));
  const roots: ConfigEntry[] = [];
  for (const { path, text } of files) {
    // The YAML reader is loaded only if there is a file. It has 1.2 MB, and loading it takes about 15 of
    // the 16 ms that this function takes (bench/FIGURES.md, "The start").
    const { parseConfig } = await import('./yaml.js');
    const root = parseConfig(path, text, findings);
    if (root !== undefined) roots.push(root);
  }
  // The keys in a file that cannot be parsed are unknown. A required key that is only in this file would be
  // reported as missing. So the values are not checked at all.
  const areAllParsed = roots.length === files.length;
  const values = areAllParsed ? valuesFrom(roots, environment, findings) : undefined;
  const { problems, warnings } = findings;
  if (problems.length > 0 || values === undefined) return failed({ problems, warnings });
  return success({ settings: settingsOf(values), values, warnings });
}

type EntriesByKey = ReadonlyMap<string, ConfigEntry>;

/** `roots` have ascending priority. If `findings` gets a problem, values may be missing. */
function valuesFrom(roots: readonly ConfigEntry[], environment: Environment, findings: Findings): KeyValues {
  let merged: ConfigEntry | undefined;
  for (const root of roots) merged = mergedWith(merged, root);
  const sections = withOurSectionNames(entriesIn(merged, findings), findings);
  const writtenKeys = new Map<string, ConfigEntry>();
  // The values have the shape of `KEYS`. The type of `readSection` cannot express this, because it reads any
  // table.
  const values = readSection(KEYS, sections, '', {
    environment,
    findings,
    writtenKeys,
  }) as unknown as KeyValues;
  reportConflicts(values, writtenKeys, findings);
  reportBrokerProblems(values, writtenKeys, environment, findings);
  return values;
}

/**
 * Two maps are merged by name. Any other value of `higher` replaces that of `lower`, but an empty value
 * replaces no map and no list (docs/configuration.md, "Where files are looked for").
 */
function mergedWith(lower: ConfigEntry | undefined, higher: ConfigEntry): ConfigEntry {
  if (lower === undefined) return higher;
  const lowerContent = lower.content;
  const higherContent = higher.content;
  if (lowerContent instanceof Map && higherContent instanceof Map) {
    const merged = new Map(lowerContent);
    for (const [name, entry] of higherContent) merged.set(name, mergedWith(lowerContent.get(name), entry));
    return { ...higher, content: merged };
  }
  const isMapOrList = lowerContent instanceof Map || Array.isArray(lowerContent);
  return higherContent === null && isMapOrList ? lower : higher;
}

/** An empty section counts as absent. */
function entriesIn(section: ConfigEntry | undefined, findings: Findings): EntriesByKey {
  const content = section?.content ?? null;
  if (content instanceof Map) return content;
  if (section !== undefined && content !== null)
    findings.addProblem(section.valueAt, section.key, `must be a map of keys, not ${describe(content)}`);
  return new Map<string, ConfigEntry>();
}

/**
 * Our names are those in `KEYS`. They replace the names that other programs use (`SECTION_ALIASES`). A
 * section that is written under both names is a problem, even if the names are in two files.
 */
function withOurSectionNames(entries: EntriesByKey, findings: Findings): EntriesByKey {
  const sections = new Map<string, ConfigEntry>();
  for (const [writtenName, entry] of entries) {
    const name = SECTION_ALIASES.get(writtenName) ?? writtenName;
    const first = sections.get(name);
    if (first === undefined) sections.set(name, entry);
    else {
      const firstSpelling = `${first.key}, which is given at ${first.keyAt.file}:${first.keyAt.line}`;
      findings.addProblem(entry.keyAt, entry.key, `is another spelling of ${firstSpelling}; use one of them`);
    }
  }
  return sections;
}

interface SectionContext {
  readonly environment: Environment;
  readonly findings: Findings;
  /** `readSection` adds the keys that are written in a file, by dotted path. */
  readonly writtenKeys: Map<string, ConfigEntry>;
}

/**
 * A key that no file has gets its default, or is left out if it has no default. A key with a value that its
 * reader refuses is treated in the same way. `findings` has a problem then, so the configuration is refused.
 */
function readSection(
  table: KeyTable,
  entries: EntriesByKey,
  parent: string,
  context: SectionContext,
): Record<string, unknown> {
  const { environment, findings, writtenKeys } = context;
  const pathOf = (name: string) => (parent === '' ? name : `${parent}.${name}`);
  for (const [name, entry] of entries)
    if (!Object.hasOwn(table, name)) findings.addUnknownKey(entry, pathOf(name).split('.'), KNOWN_PATHS);
  const values: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(table)) {
    const entry = entries.get(name);
    const path = pathOf(name);
    if (!isRow(row)) {
      values[name] = readSection(row, entriesIn(entry, findings), path, context);
      continue;
    }
    if (entry !== undefined) writtenKeys.set(path, entry);
    const writtenValue =
      entry === undefined ? undefined : row.read(entry, { home: environment.home, findings });
    const value = writtenValue ?? row.byDefault(environment);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

function reportConflicts({ upgrade }: KeyValues, writtenKeys: EntriesByKey, findings: Findings): void {
  const { checkUnit, upgradeUnit } = upgrade;
  // A missing `upgrade.resultFile` has no place in a file, so its problem gets the place of
  // `upgrade.enabled`. This place is known whenever this key is true, because its default is false.
  const enabledAt = writtenKeys.get('upgrade.enabled')?.valueAt;
  // A wrong `upgrade.resultFile` has no value either, but its problem has been reported already. So
  // `writtenKeys` is checked instead of the value.
  if (upgrade.enabled && enabledAt !== undefined && !writtenKeys.has('upgrade.resultFile'))
    findings.addProblem(enabledAt, 'upgrade.resultFile', 'is required when upgrade.enabled is true');
  reportSameFiles(upgrade, writtenKeys, findings);
  warnOfHiddenUnits(writtenKeys, findings);
  const upgradeUnitEntry = writtenKeys.get('upgrade.upgradeUnit');
  if (upgradeUnitEntry !== undefined && upgradeUnit !== undefined && upgradeUnit === checkUnit)
    findings.addWarning(
      upgradeUnitEntry.valueAt,
      upgradeUnitEntry.key,
      'is also upgrade.checkUnit, so every check would start an upgrade',
    );
}

function reportBrokerProblems(
  { mqtt }: KeyValues,
  writtenKeys: EntriesByKey,
  { secretFault }: Environment,
  findings: Findings,
): void {
  // The comments in `reportConflicts` explain why `enabledAt` and `writtenKeys` are checked.
  const enabledAt = writtenKeys.get('mqtt.enabled')?.valueAt;
  if (mqtt.enabled && enabledAt !== undefined && !writtenKeys.has('mqtt.url'))
    findings.addProblem(enabledAt, 'mqtt.url', 'is required when mqtt.enabled is true');
  const fileEntry = writtenKeys.get('mqtt.passwordFile');
  if (!mqtt.enabled || fileEntry === undefined || mqtt.passwordFile === undefined) return;
  const fault = secretFault?.(mqtt.passwordFile);
  if (fault !== undefined) findings.addProblem(fileEntry.valueAt, fileEntry.key, fault);
}

/** Two keys of the upgrade must not name the same file, because two writers would destroy it. */
function reportSameFiles(upgrade: KeyValues['upgrade'], writtenKeys: EntriesByKey, findings: Findings): void {
  const keysByPath = new Map<string, string>();
  for (const name of ['resultFile', 'progressSocket', 'stateFile'] as const) {
    const path = upgrade[name];
    if (path === undefined) continue;
    const normalizedPath = posix.normalize(path);
    const key = `upgrade.${name}`;
    const otherKey = keysByPath.get(normalizedPath);
    if (otherKey !== undefined) {
      // Only a key that is written in a file has an entry. One of the two keys may have its default.
      const entry = writtenKeys.get(key) ?? writtenKeys.get(otherKey);
      if (entry !== undefined)
        findings.addProblem(entry.valueAt, entry.key, `${key} and ${otherKey} are the same file`);
    }
    keysByPath.set(normalizedPath, key);
  }
}

/**
 * Units of the upgrade are hidden from `/services`, even if `systemd.system` or `systemd.user` lists them
 * (docs/configuration.md, "Upgrades").
 */
function warnOfHiddenUnits(writtenKeys: EntriesByKey, findings: Findings): void {
  const listedUnits: ConfigEntry[] = [];
  for (const listKey of ['systemd.system', 'systemd.user']) {
    const list = writtenKeys.get(listKey)?.content;
    if (Array.isArray(list)) listedUnits.push(...list.map(nameEntry));
  }
  for (const upgradeKey of ['upgrade.checkUnit', 'upgrade.upgradeUnit']) {
    const unit = writtenKeys.get(upgradeKey)?.content;
    if (typeof unit !== 'string') continue;
    const hiddenUnits = listedUnits.filter(({ content }) => content === unit);
    for (const { valueAt, key } of hiddenUnits)
      findings.addWarning(valueAt, key, `${unit} is ${upgradeKey}, so it stays hidden from /services`);
  }
}
