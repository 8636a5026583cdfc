// Between texts and settings: the texts of files -> settings or everything that is wrong with them, and settings -> the text that
// `--check-config` prints. Pure. It brings `yaml` along, so that it is loaded only when there is a text.

import type { Settings, UnitEntry } from '../../protocol/actor/settings.js';
import { Findings } from './findings.js';
import { type Environment, valuesOf } from './keys.js';
import type { ConfigMap } from './tree.js';
import { settingsFrom } from './walk.js';
import { parseConfig, printYaml } from './yaml.js';

export interface ConfigFile {
  /** As it is shown in messages. */
  readonly path: string;
  readonly text: string;
}

/** Problems and warnings are lines, `FILE:LINE:COL: key: what is wrong`, in the order of the files. */
export type Resolved =
  | { readonly ok: true; readonly settings: Settings; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problems: readonly string[]; readonly warnings: readonly string[] };

/** `files` in the order in which they are laid over each other: the main file first. No files: the defaults. */
export function resolve(files: readonly ConfigFile[], environment: Environment): Resolved {
  const findings = new Findings();
  const names = files.map(({ path }) => path);
  const parsed = files.map(({ path, text }) => parseConfig(path, text, findings));
  const maps = parsed.filter((each): each is ConfigMap => typeof each === 'object');
  // What a broken file would have said is unknown: judging the rest would report its absence.
  const settings = parsed.includes('unusable') ? undefined : settingsFrom(maps, environment, findings);
  const warnings = findings.warnings(names);
  return findings.failed || settings === undefined
    ? { ok: false, problems: findings.problems(names), warnings }
    : { ok: true, settings, warnings };
}

/** Every key that has a value, under the names of contract section 1, as one YAML document, which loads to the same settings again. */
export function effectiveYaml(settings: Settings): string {
  const values = valuesOf(settings);
  const { enabled, system, user } = values.systemd;
  return printYaml({ ...values, systemd: { enabled, system: system.map(printed), user: user.map(printed) } });
}

/** A unit without an address is printed as its bare name, as people write it. */
function printed(unit: UnitEntry): UnitEntry | string {
  return unit.url === undefined ? unit.name : unit;
}
