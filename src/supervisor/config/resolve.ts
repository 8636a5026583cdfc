// Texts of configuration files -> settings, or everything that is wrong with them. Pure. It brings `yaml` along.

import type { Settings } from '../../protocol/actor/settings.js';
import { directoriesOf, type Environment } from './directories.js';
import { Findings } from './findings.js';
import { judge } from './judge.js';
import { SECTION_ALIASES } from './keys.js';
import { parseConfig } from './parse.js';
import { type ConfigMap, mergedMaps, withProperNames } from './tree.js';

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
  let root: ConfigMap | undefined;
  let readable = true;
  for (const { path, text } of files) {
    const parsed = parseConfig(path, text, findings);
    if (parsed === 'unusable') readable = false;
    if (typeof parsed !== 'object') continue;
    const proper = withProperNames(parsed, SECTION_ALIASES, findings);
    root = root === undefined ? proper : mergedMaps(root, proper, findings);
  }
  // What a broken file would have said is unknown: judging the rest would report its absence.
  const settings = readable ? judge(root, directoriesOf(environment), findings) : undefined;
  const warnings = findings.warnings(names);
  return findings.failed || settings === undefined
    ? { ok: false, problems: findings.problems(names), warnings }
    : { ok: true, settings, warnings };
}
