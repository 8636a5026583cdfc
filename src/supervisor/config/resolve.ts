// Turns the texts of files into settings, or all their problems: walks the table of keys once, then checks conditions between keys.
// Pure.

import { posix } from 'node:path';
import type { Settings } from '../../protocol/actor/settings.js';
import { type ConfigValue, isPlainMap } from './config-value.js';
import { describe, Findings, nearestKey } from './findings.js';
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
import { soundNames, type ValueReader } from './readers.js';

export interface ConfigFile {
  /** The path as messages show it. */
  readonly path: string;
  readonly text: string;
}

/** `values` are the settings in the shape of the file. Problems and warnings are lines `FILE:LINE:COL: key: what is wrong`, by file. */
export type ResolveResult =
  | {
      readonly ok: true;
      readonly settings: Settings;
      readonly values: KeyValues;
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly string[]; readonly warnings: readonly string[] };

const KNOWN_PATHS = [...pathsIn(KEYS), ...SECTION_ALIASES.keys()];

/** `files` in ascending priority: the main file first. Without files the defaults apply. */
export async function resolve(
  files: readonly ConfigFile[],
  environment: Environment,
): Promise<ResolveResult> {
  const findings = new Findings();
  const names = files.map(({ path }) => path);
  const maps: ConfigValue[] = [];
  for (const { path, text } of files) {
    // The YAML reader is 1.2 MB, and about 15 ms of 16 (measured, bundled, Node 20), so it is loaded only if there is a file.
    const { parseConfig } = await import('./yaml.js');
    const map = parseConfig(path, text, findings);
    if (map !== undefined) maps.push(map);
  }
  // The content of a broken file is unknown, so checking the rest would report keys as missing.
  const values = maps.length === files.length ? valuesFrom(maps, environment, findings) : undefined;
  const warnings = findings.warnings(names);
  return findings.failed || values === undefined
    ? { ok: false, problems: findings.problems(names), warnings }
    : { ok: true, settings: settingsOf(values), values, warnings };
}

/** Complete if `findings` has no problem. */
function valuesFrom(files: readonly ConfigValue[], environment: Environment, findings: Findings): KeyValues {
  const walk = new ValueReading(environment, findings);
  // A section's values have the shape of its table, but the types of a walk over any table cannot express that.
  const values = walk.section(KEYS, files, '') as unknown as KeyValues;
  reportConflicts(values, walk.given, findings);
  reportBroker(values, walk.given, environment, findings);
  return values;
}

class ValueReading {
  /** The given values by dotted path. */
  readonly given = new Map<string, ConfigValue>();
  readonly #environment: Environment;
  readonly #findings: Findings;

  constructor(environment: Environment, findings: Findings) {
    this.#environment = environment;
    this.#findings = findings;
  }

  /** The values of a section's keys, without those that have none. `maps` are in ascending priority. */
  section(table: KeyTable, maps: readonly ConfigValue[], path: string): Record<string, unknown> {
    const entries = this.#entries(maps, path === '');
    for (const [name, given] of entries) {
      if (!Object.hasOwn(table, name)) this.#reportUnknown(join(path, name), given);
    }
    const values: Record<string, unknown> = {};
    for (const [name, row] of Object.entries(table)) {
      const given = mergeFiles(entries.get(name) ?? []);
      const value = isRow(row)
        ? (this.#read(row.read, given, join(path, name)) ?? row.byDefault(this.#environment))
        : this.section(row, this.#maps(given), join(path, name));
      if (value !== undefined) values[name] = value;
    }
    return values;
  }

  /** The given values by name, in file order. A section must have the same spelling in all files. */
  #entries(maps: readonly ConfigValue[], isTop: boolean): ReadonlyMap<string, readonly ConfigValue[]> {
    const entries = new Map<string, readonly ConfigValue[]>();
    for (const [spelled, entry] of maps.flatMap((map) => map.entries)) {
      const name = (isTop && SECTION_ALIASES.get(spelled)) || spelled;
      const others = entries.get(name) ?? [];
      const [first] = others;
      // Below the top only the section's spelling can differ, which was reported already.
      if (isTop && first !== undefined && first.key !== entry.key) {
        const place = `${first.key}, which is given at ${first.keyAt.file}:${first.keyAt.line}`;
        this.#findings.problem(entry.keyAt, entry.key, `is another spelling of ${place}; use one of them`);
      }
      entries.set(name, [...others, entry]);
    }
    return entries;
  }

  #read<T>(read: ValueReader<T>, given: ConfigValue | undefined, path: string): T | undefined {
    if (given === undefined) return undefined;
    this.given.set(path, given);
    return read(given, { home: this.#environment.home, findings: this.#findings });
  }

  /** An empty section counts as absent. */
  #maps(given: ConfigValue | undefined): readonly ConfigValue[] {
    if (given === undefined || given.value === null) return [];
    if (isPlainMap(given.value)) return [given];
    this.#findings.problem(given.at, given.key, `must be a map of keys, not ${describe(given.value)}`);
    return [];
  }

  #reportUnknown(path: string, given: readonly ConfigValue[]): void {
    const last = given.at(-1);
    if (last === undefined) return;
    const near = nearestKey(path.split('.'), KNOWN_PATHS);
    this.#findings.warning(last.keyAt, last.key, `unknown key; the nearest known key is ${near}`);
  }
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** The value of a key that several files give, the lowest file first. */
function mergeFiles(values: readonly ConfigValue[]): ConfigValue | undefined {
  return values.reduce<ConfigValue | undefined>((below, given) => given.over(below), undefined);
}

type ConfigValues = ReadonlyMap<string, ConfigValue>;

function reportConflicts({ upgrade }: KeyValues, given: ConfigValues, findings: Findings): void {
  const enabled = given.get('upgrade.enabled');
  // A result file that is given but wrong has been reported already.
  if (upgrade.enabled && enabled !== undefined && !given.has('upgrade.resultFile'))
    findings.problem(enabled.at, 'upgrade.resultFile', 'is required when upgrade.enabled is true');
  reportSameFiles(upgrade, given, findings);
  warnOfHiddenUnits(given, findings);
  const twice = given.get('upgrade.upgradeUnit');
  if (twice !== undefined && upgrade.upgradeUnit !== undefined && upgrade.upgradeUnit === upgrade.checkUnit)
    findings.warning(twice.at, twice.key, 'is also upgrade.checkUnit, so every check would start an upgrade');
}

function reportBroker(
  { mqtt }: KeyValues,
  given: ConfigValues,
  { secretFault }: Environment,
  findings: Findings,
): void {
  const enabled = given.get('mqtt.enabled');
  if (mqtt.enabled && enabled !== undefined && !given.has('mqtt.url'))
    findings.problem(enabled.at, 'mqtt.url', 'is required when mqtt.enabled is true');
  const secret = given.get('mqtt.passwordFile');
  if (!mqtt.enabled || secret === undefined || mqtt.passwordFile === undefined) return;
  const fault = secretFault?.(mqtt.passwordFile);
  if (fault !== undefined) findings.problem(secret.at, secret.key, fault);
}

/** Two writers would destroy the file. */
function reportSameFiles(upgrade: KeyValues['upgrade'], given: ConfigValues, findings: Findings): void {
  const seen = new Map<string, string>();
  for (const name of ['resultFile', 'progressSocket', 'stateFile'] as const) {
    const spelled = upgrade[name];
    if (spelled === undefined) continue;
    const path = posix.normalize(spelled);
    const key = `upgrade.${name}`;
    const other = seen.get(path);
    // One of the two may be a default, which has no place.
    const at = other === undefined ? undefined : (given.get(key) ?? given.get(other));
    if (at !== undefined) findings.problem(at.at, at.key, `${key} and ${other} are the same file`);
    seen.set(path, key);
  }
}

/** Such a unit is hidden from `/services` (docs/configuration.md, "Upgrades"), which may surprise the person who listed it. */
function warnOfHiddenUnits(given: ConfigValues, findings: Findings): void {
  for (const owner of ['upgrade.checkUnit', 'upgrade.upgradeUnit']) {
    const unit = given.get(owner);
    if (unit === undefined) continue;
    for (const list of ['systemd.system', 'systemd.user']) {
      const listed = given.get(list);
      for (const { name, at, key } of listed === undefined ? [] : soundNames(listed)) {
        if (name !== unit.value) continue;
        findings.warning(at, key, `${name} is ${owner}, so it stays hidden from /services`);
      }
    }
  }
}
