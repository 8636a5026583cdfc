// Between texts and settings: the texts of files -> settings or everything that is wrong with them, and values -> the text that
// `--check-config` prints. Pure. It brings `yaml` along, so that it is loaded only when there is a text.

import type { Settings, UnitEntry } from '../../protocol/actor/settings.js';
import { Findings } from './findings.js';
import { type Environment, type KeyValues, settingsOf } from './keys.js';
import type { ConfigMap } from './tree.js';
import { valuesFrom } from './walk.js';
import { parseConfig, printYaml } from './yaml.js';

export interface ConfigFile {
  /** As it is shown in messages. */
  readonly path: string;
  readonly text: string;
}

/** `values` are the settings in the shape of the file. Problems and warnings are lines, `FILE:LINE:COL: key: what is wrong`, in the order of the files. */
export type Resolved =
  | {
      readonly ok: true;
      readonly settings: Settings;
      readonly values: KeyValues;
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly string[]; readonly warnings: readonly string[] };

/** `files` in the order in which they are laid over each other: the main file first. No files: the defaults. */
export function resolve(files: readonly ConfigFile[], environment: Environment): Resolved {
  const findings = new Findings();
  const names = files.map(({ path }) => path);
  const parsed = files.map(({ path, text }) => parseConfig(path, text, findings));
  const maps = parsed.filter((each): each is ConfigMap => typeof each === 'object');
  // What a broken file would have said is unknown: judging the rest would report its absence.
  const values = parsed.includes('unusable') ? undefined : valuesFrom(maps, environment, findings);
  const warnings = findings.warnings(names);
  return findings.failed || values === undefined
    ? { ok: false, problems: findings.problems(names), warnings }
    : { ok: true, settings: settingsOf(values), values, warnings };
}

/** Every key that has a value, under the names of contract section 1, as one YAML document, which loads to the same settings again. */
export function effectiveYaml(values: KeyValues): string {
  const { enabled, system, user } = values.systemd;
  return printYaml({ ...values, systemd: { enabled, system: system.map(printed), user: user.map(printed) } });
}

/** A unit without an address is printed as its bare name, as people write it. */
function printed(unit: UnitEntry): UnitEntry | string {
  return unit.url === undefined ? unit.name : unit;
}
