// Reads `pulseaudio.groups`: outputs that are combined to one (docs/configuration.md, "Groups"). Pure.

import type { GroupChoice } from '../../protocol/actor/settings.js';
import type { Entry } from './findings.js';
import {
  byName,
  checkedText,
  differentTexts,
  label,
  readFields,
  reportExpected,
  type ValueReader,
} from './readers.js';
import { outputName } from './texts.js';

const GROUPS_MAX = 8;
const GROUP_NAME = /^[a-z0-9_-]{1,32}$/;

const outputNames = differentTexts(checkedText('the name of an output', outputName));

/** The names of a group's outputs, each once. */
const outputs: ValueReader<readonly string[]> = (entry, reading) => {
  if (Array.isArray(entry.content) && entry.content.length === 0)
    reading.findings.problem(entry.at, entry.key, 'must not be an empty list');
  return outputNames(entry, reading);
};

const group: ValueReader<GroupChoice> = (entry, reading) => {
  const { at, key, content } = entry;
  if (!(content instanceof Map)) return reportExpected('a map of label and outputs', entry, reading);
  const fields = readFields<GroupChoice>({ label, outputs }, content, reading);
  if (!content.has('outputs')) reading.findings.problem(at, `${key}.outputs`, 'is required');
  return fields.outputs === undefined ? undefined : { ...fields, outputs: fields.outputs };
};

export const groups: ValueReader<Readonly<Record<string, GroupChoice>>> = (entry, reading) => {
  const { findings } = reading;
  const named: readonly (readonly [string, Entry])[] = entry.content instanceof Map ? [...entry.content] : [];
  for (const [name, { key, keyAt }] of named)
    if (!GROUP_NAME.test(name))
      findings.problem(keyAt, key, 'a group is called by 1 to 32 of the characters a-z, 0-9, _ and -');
  const [, beyond] = named[GROUPS_MAX] ?? [];
  if (beyond !== undefined)
    findings.problem(beyond.keyAt, beyond.key, `there are ${named.length} groups, ${GROUPS_MAX} are allowed`);
  return byName(group)(entry, reading);
};
