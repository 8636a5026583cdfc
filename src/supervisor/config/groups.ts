// Reads `pulseaudio.groups`. A group has outputs that play together (docs/configuration.md, "Groups"). Pure.

import type { GroupChoice } from '../../protocol/actor/settings.js';
import {
  byCheckedName,
  checkedText,
  label,
  listOfDifferentTexts,
  readFields,
  reportExpected,
  type ValueReader,
} from './readers.js';
import { outputName } from './texts.js';

const GROUPS_MAX = 8;
/** The group's name becomes the last part of an output's name in the sound server. */
const GROUP_NAME = /^[a-z0-9_-]{1,32}$/;

const outputNames = listOfDifferentTexts(checkedText('the name of an output', outputName));

const outputs: ValueReader<readonly string[]> = (entry, context) => {
  const { content } = entry;
  const isEmptyList = Array.isArray(content) && content.length === 0;
  // `outputs:` without a value is null, which `outputNames` accepts as an empty list.
  if (content === null || isEmptyList)
    context.findings.addProblem(entry.valueAt, entry.key, 'must not be an empty list');
  return outputNames(entry, context);
};

const group: ValueReader<GroupChoice> = (entry, context) => {
  const { valueAt, key, content } = entry;
  if (!(content instanceof Map)) return reportExpected('a map of label and outputs', entry, context);
  const fields = readFields<GroupChoice>({ label, outputs }, content, context);
  if (!content.has('outputs')) context.findings.addProblem(valueAt, `${key}.outputs`, 'is required');
  // The comparison does not tell the compiler that `fields` has `outputs`, so `outputs` is added once more.
  return fields.outputs === undefined ? undefined : { ...fields, outputs: fields.outputs };
};

export const groups: ValueReader<Readonly<Record<string, GroupChoice>>> = byCheckedName(group, {
  max: GROUPS_MAX,
  nounPlural: 'groups',
  nameProblem: (name) =>
    GROUP_NAME.test(name) ? undefined : 'a group is called by 1 to 32 of the characters a-z, 0-9, _ and -',
});
