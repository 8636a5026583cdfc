// Turns the texts of files into settings, or all their problems: walks the table of keys once, then checks
// conditions between keys. Pure.

import { posix } from 'node:path';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import type { Settings } from '../../protocol/actor/settings.js';
import { describe, type Entry, Findings } from './findings.js';
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
import { nameOfUnit } from './readers.js';

export interface ConfigFile {
  /** The path as messages show it. */
  readonly path: string;
  readonly text: string;
}

/** Warnings and problems are lines `FILE:LINE:COL: key: what is wrong`, by file. */
export interface Configuration {
  readonly settings: Settings;
  /** The settings in the shape of the file. */
  readonly values: KeyValues;
  readonly warnings: readonly string[];
}

export interface WrongConfiguration {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

const KNOWN_PATHS = [...pathsIn(KEYS), ...SECTION_ALIASES.keys()];

/** `files` in ascending priority: the main file first. Without files the defaults apply. */
export async function resolve(
  files: readonly ConfigFile[],
  environment: Environment,
): Promise<Result<Configuration, WrongConfiguration>> {
  const findings = new Findings(files.map(({ path }) => path));
  const read: Entry[] = [];
  for (const { path, text } of files) {
    // The YAML reader has 1.2 MB and takes about 15 of the 16 ms of this function (measured, bundled, Node
    // 20), so it is loaded only if there is a file.
    const { parseConfig } = await import('./yaml.js');
    const root = parseConfig(path, text, findings);
    if (root !== undefined) read.push(root);
  }
  // The content of a broken file is unknown, so checking the rest would report keys as missing.
  const values = read.length === files.length ? valuesFrom(read, environment, findings) : undefined;
  const { problems, warnings } = findings;
  return problems.length > 0 || values === undefined
    ? failed({ problems, warnings })
    : success({ settings: settingsOf(values), values, warnings });
}

type Entries = ReadonlyMap<string, Entry>;

/** Complete if `findings` has no problem. */
function valuesFrom(files: readonly Entry[], environment: Environment, findings: Findings): KeyValues {
  const merged = files.reduce<Entry | undefined>((below, above) => laidOver(above, below), undefined);
  const sections = withOneSpelling(entriesIn(merged, findings), findings);
  const present = new Map<string, Entry>();
  // A section's values have the shape of its table, but the types of a walk over any table cannot express
  // that.
  const values = readSection(KEYS, sections, '', { environment, findings, present }) as unknown as KeyValues;
  reportConflicts(values, present, findings);
  reportBroker(values, present, environment, findings);
  return values;
}

/**
 * A value laid over a lower file's (docs/configuration.md, "Where files are looked for"): maps are merged by
 * name, any other value replaces the lower one, but an empty value removes nothing from a map or a list.
 */
function laidOver(above: Entry, below: Entry | undefined): Entry {
  const lower = below?.content ?? null;
  if (below === undefined || typeof lower !== 'object' || lower === null) return above;
  const upper = above.content;
  if (upper === null) return below;
  if (!(upper instanceof Map && lower instanceof Map)) return above;
  const merged = new Map(lower);
  for (const [name, inner] of upper) merged.set(name, laidOver(inner, lower.get(name)));
  return { ...above, content: merged };
}

/** An empty section counts as absent. */
function entriesIn(section: Entry | undefined, findings: Findings): Entries {
  const content = section?.content ?? null;
  if (content instanceof Map) return content;
  if (section !== undefined && content !== null)
    findings.problem(section.at, section.key, `must be a map of keys, not ${describe(content)}`);
  return new Map<string, Entry>();
}

/** Sections under their own names, each of which must have the same spelling in all files. */
function withOneSpelling(entries: Entries, findings: Findings): Entries {
  const sections = new Map<string, Entry>();
  for (const [spelled, entry] of entries) {
    const name = SECTION_ALIASES.get(spelled) ?? spelled;
    const first = sections.get(name);
    if (first === undefined) sections.set(name, entry);
    else {
      const place = `${first.key}, which is given at ${first.keyAt.file}:${first.keyAt.line}`;
      findings.problem(entry.keyAt, entry.key, `is another spelling of ${place}; use one of them`);
    }
  }
  return sections;
}

interface Walk {
  readonly environment: Environment;
  readonly findings: Findings;
  /** The values that the files have, by dotted path. */
  readonly present: Map<string, Entry>;
}

/** The values of a section's keys, without those that have none. */
function readSection(table: KeyTable, entries: Entries, parent: string, walk: Walk): Record<string, unknown> {
  const { environment, findings } = walk;
  const pathOf = (name: string) => (parent === '' ? name : `${parent}.${name}`);
  for (const [name, entry] of entries)
    if (!Object.hasOwn(table, name)) findings.unknownKey(entry, pathOf(name).split('.'), KNOWN_PATHS);
  const values: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(table)) {
    const entry = entries.get(name);
    const path = pathOf(name);
    if (!isRow(row)) {
      values[name] = readSection(row, entriesIn(entry, findings), path, walk);
      continue;
    }
    if (entry !== undefined) walk.present.set(path, entry);
    const read = entry && row.read(entry, { home: environment.home, findings });
    const value = read ?? row.byDefault(environment);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

function reportConflicts({ upgrade }: KeyValues, present: Entries, findings: Findings): void {
  const enabled = present.get('upgrade.enabled');
  // A result file that is given but wrong has been reported already.
  if (upgrade.enabled && enabled !== undefined && !present.has('upgrade.resultFile'))
    findings.problem(enabled.at, 'upgrade.resultFile', 'is required when upgrade.enabled is true');
  reportSameFiles(upgrade, present, findings);
  warnOfHiddenUnits(present, findings);
  const twice = present.get('upgrade.upgradeUnit');
  if (twice !== undefined && upgrade.upgradeUnit !== undefined && upgrade.upgradeUnit === upgrade.checkUnit)
    findings.warning(twice.at, twice.key, 'is also upgrade.checkUnit, so every check would start an upgrade');
}

function reportBroker(
  { mqtt }: KeyValues,
  present: Entries,
  { secretFault }: Environment,
  findings: Findings,
): void {
  const enabled = present.get('mqtt.enabled');
  if (mqtt.enabled && enabled !== undefined && !present.has('mqtt.url'))
    findings.problem(enabled.at, 'mqtt.url', 'is required when mqtt.enabled is true');
  const secret = present.get('mqtt.passwordFile');
  if (!mqtt.enabled || secret === undefined || mqtt.passwordFile === undefined) return;
  const fault = secretFault?.(mqtt.passwordFile);
  if (fault !== undefined) findings.problem(secret.at, secret.key, fault);
}

/** Two writers would destroy the file. */
function reportSameFiles(upgrade: KeyValues['upgrade'], present: Entries, findings: Findings): void {
  const owners = new Map<string, string>();
  for (const name of ['resultFile', 'progressSocket', 'stateFile'] as const) {
    const spelled = upgrade[name];
    if (spelled === undefined) continue;
    const path = posix.normalize(spelled);
    const key = `upgrade.${name}`;
    const other = owners.get(path);
    // One of the two may be a default, which has no place.
    const at = other === undefined ? undefined : (present.get(key) ?? present.get(other));
    if (at !== undefined) findings.problem(at.at, at.key, `${key} and ${other} are the same file`);
    owners.set(path, key);
  }
}

/**
 * Such a unit is hidden from `/services` (docs/configuration.md, "Upgrades"), which may surprise the person
 * who listed it.
 */
function warnOfHiddenUnits(present: Entries, findings: Findings): void {
  for (const owner of ['upgrade.checkUnit', 'upgrade.upgradeUnit']) {
    const unit = present.get(owner)?.content;
    for (const list of ['systemd.system', 'systemd.user']) {
      const listed = present.get(list)?.content;
      for (const { at, key, content } of Array.isArray(listed) ? listed.map(nameOfUnit) : [])
        if (typeof unit === 'string' && content === unit)
          findings.warning(at, key, `${unit} is ${owner}, so it stays hidden from /services`);
    }
  }
}
