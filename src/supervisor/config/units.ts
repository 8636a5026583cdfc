// Reads the name of a unit, and the lists of units in `systemd.system` and `systemd.user`
// (docs/configuration.md, "Keys"). Pure.

import type { UnitEntry } from '../../protocol/actor/settings.js';
import { keyPath } from './findings.js';
import { checkedText, listOfDifferent, readFields, reportExpected, type ValueReader } from './readers.js';
import { unitName, url } from './texts.js';

export const unit: ValueReader<string> = checkedText('a unit name', unitName);

/** An item of a list of units is a name such as `mpd.service`, or a map `{name, url}`. */
const listedUnit: ValueReader<UnitEntry> = (entry, context) => {
  const { valueAt, key, content } = entry;
  // If the item is a list, the message names both forms. A number or an empty value is probably meant as a
  // name, so `unit` reports it below.
  if (Array.isArray(content)) return reportExpected('a unit name or a map of name and url', entry, context);
  if (!(content instanceof Map)) {
    const name = unit(entry, context);
    return name === undefined ? undefined : { name };
  }
  // `readFields` reports no missing field.
  if (!content.has('name')) context.findings.addProblem(valueAt, keyPath(key, 'name'), 'is required');
  const fields = readFields<UnitEntry>({ name: unit, url: checkedText('a URL', url) }, content, context);
  return fields.name === undefined ? undefined : { ...fields, name: fields.name };
};

/** The units of `systemd.system` or `systemd.user`, in the order of the list. */
export const units: ValueReader<readonly UnitEntry[]> = listOfDifferent(listedUnit, ({ name }) => name);
