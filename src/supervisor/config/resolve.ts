// Turns the texts of the files into settings, or into a list of all their problems. It reads every key of
// the table once, then checks the rules that concern two keys. Pure.

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
import { nameEntry } from './readers.js';

export interface ConfigFile {
  /** The path as messages write it. */
  readonly path: string;
  readonly text: string;
}

/** `warnings`, and `problems` of the next type, are lines `FILE:LINE:COL: key: what is wrong`, by file. */
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
    // The YAML reader is loaded only if there is a file, because it has 1.2 MB and takes about 15 of the 16
    // ms of this function (measured, bundled, Node 20).
    const { parseConfig } = await import('./yaml.js');
    const root = parseConfig(path, text, findings);
    if (root !== undefined) read.push(root);
  }
  // If a file could not be parsed, its keys are unknown, and the check of the other files would report these
  // keys as missing.
  const values = read.length === files.length ? valuesFrom(read, environment, findings) : undefined;
  const { problems, warnings } = findings;
  return problems.length > 0 || values === undefined
    ? failed({ problems, warnings })
    : success({ settings: settingsOf(values), values, warnings });
}

type Entries = ReadonlyMap<string, Entry>;

/** The values are complete unless `findings` has got a problem. `files` in ascending priority. */
function valuesFrom(files: readonly Entry[], environment: Environment, findings: Findings): KeyValues {
  let merged: Entry | undefined;
  for (const file of files) merged = mergedWith(merged, file);
  const sections = withOneSpelling(entriesIn(merged, findings), findings);
  const written = new Map<string, Entry>();
  // A section's values have the shape of its table. The types cannot express that for a function that reads
  // any table.
  const values = readSection(KEYS, sections, '', { environment, findings, written }) as unknown as KeyValues;
  reportConflicts(values, written, findings);
  reportBroker(values, written, environment, findings);
  return values;
}

/**
 * The value of a key that two files may have (docs/configuration.md, "Where files are looked for"): maps are
 * merged by name, any other value replaces the one of the lower file. An empty value removes no map and no
 * list.
 */
function mergedWith(lower: Entry | undefined, higher: Entry): Entry {
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

/** The keys of a section. An empty section counts as absent. */
function entriesIn(section: Entry | undefined, findings: Findings): Entries {
  const content = section?.content ?? null;
  if (content instanceof Map) return content;
  if (section !== undefined && content !== null)
    findings.problem(section.valueAt, section.key, `must be a map of keys, not ${describe(content)}`);
  return new Map<string, Entry>();
}

/** The sections under our names. A section may not be written under two names, not even in two files. */
function withOneSpelling(entries: Entries, findings: Findings): Entries {
  const sections = new Map<string, Entry>();
  for (const [writtenName, entry] of entries) {
    const name = SECTION_ALIASES.get(writtenName) ?? writtenName;
    const first = sections.get(name);
    if (first === undefined) sections.set(name, entry);
    else {
      const place = `${first.key}, which is given at ${first.keyAt.file}:${first.keyAt.line}`;
      findings.problem(entry.keyAt, entry.key, `is another spelling of ${place}; use one of them`);
    }
  }
  return sections;
}

interface SectionContext {
  readonly environment: Environment;
  readonly findings: Findings;
  /** The keys that are written in a file, by dotted path: `readSection` adds those that it finds. */
  readonly written: Map<string, Entry>;
}

/** The values of a section's keys and subsections. A key without a value and a default is left out. */
function readSection(
  table: KeyTable,
  entries: Entries,
  parent: string,
  context: SectionContext,
): Record<string, unknown> {
  const { environment, findings, written } = context;
  const pathOf = (name: string) => (parent === '' ? name : `${parent}.${name}`);
  for (const [name, entry] of entries)
    if (!Object.hasOwn(table, name)) findings.unknownKey(entry, pathOf(name).split('.'), KNOWN_PATHS);
  const values: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(table)) {
    const entry = entries.get(name);
    const path = pathOf(name);
    if (!isRow(row)) {
      values[name] = readSection(row, entriesIn(entry, findings), path, context);
      continue;
    }
    if (entry !== undefined) written.set(path, entry);
    const valueRead = entry && row.read(entry, { home: environment.home, findings });
    const value = valueRead ?? row.byDefault(environment);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

function reportConflicts({ upgrade }: KeyValues, written: Entries, findings: Findings): void {
  const { checkUnit, upgradeUnit } = upgrade;
  const enabled = written.get('upgrade.enabled');
  // A result file that is written but wrong has been reported already, so `upgrade.resultFile` is not tested
  // for undefined.
  if (upgrade.enabled && enabled !== undefined && !written.has('upgrade.resultFile'))
    findings.problem(enabled.valueAt, 'upgrade.resultFile', 'is required when upgrade.enabled is true');
  reportSameFiles(upgrade, written, findings);
  warnOfHiddenUnits(written, findings);
  const entry = written.get('upgrade.upgradeUnit');
  if (entry !== undefined && upgradeUnit !== undefined && upgradeUnit === checkUnit)
    findings.warning(
      entry.valueAt,
      entry.key,
      'is also upgrade.checkUnit, so every check would start an upgrade',
    );
}

function reportBroker(
  { mqtt }: KeyValues,
  written: Entries,
  { secretFault }: Environment,
  findings: Findings,
): void {
  const enabled = written.get('mqtt.enabled');
  if (mqtt.enabled && enabled !== undefined && !written.has('mqtt.url'))
    findings.problem(enabled.valueAt, 'mqtt.url', 'is required when mqtt.enabled is true');
  const secret = written.get('mqtt.passwordFile');
  if (!mqtt.enabled || secret === undefined || mqtt.passwordFile === undefined) return;
  const fault = secretFault?.(mqtt.passwordFile);
  if (fault !== undefined) findings.problem(secret.valueAt, secret.key, fault);
}

/** Two keys may not name one file, because two writers would destroy it. */
function reportSameFiles(upgrade: KeyValues['upgrade'], written: Entries, findings: Findings): void {
  const keysByPath = new Map<string, string>();
  for (const name of ['resultFile', 'progressSocket', 'stateFile'] as const) {
    const path = upgrade[name];
    if (path === undefined) continue;
    const normalized = posix.normalize(path);
    const key = `upgrade.${name}`;
    const otherKey = keysByPath.get(normalized);
    if (otherKey !== undefined) {
      // One of the two may be a default, which has no place in a file.
      const entry = written.get(key) ?? written.get(otherKey);
      if (entry !== undefined)
        findings.problem(entry.valueAt, entry.key, `${key} and ${otherKey} are the same file`);
    }
    keysByPath.set(normalized, key);
  }
}

/**
 * Warns of listed units that are units of the upgrade, too: these are hidden from `/services`
 * (docs/configuration.md, "Upgrades"), which may surprise the person who listed them.
 */
function warnOfHiddenUnits(written: Entries, findings: Findings): void {
  const listed = ['systemd.system', 'systemd.user'].flatMap((key) => {
    const list = written.get(key)?.content;
    return Array.isArray(list) ? list.map(nameEntry) : [];
  });
  for (const upgradeKey of ['upgrade.checkUnit', 'upgrade.upgradeUnit']) {
    const unit = written.get(upgradeKey)?.content;
    if (typeof unit !== 'string') continue;
    for (const { valueAt, key } of listed.filter(({ content }) => content === unit))
      findings.warning(valueAt, key, `${unit} is ${upgradeKey}, so it stays hidden from /services`);
  }
}
