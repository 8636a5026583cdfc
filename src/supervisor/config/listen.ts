// Reads `pulseaudio.listen`: inputs that are heard from the start on (docs/configuration.md, "Inputs that are
// heard"). Pure.

import type { Entry } from './findings.js';
import { byName, checkedText, type ValueReader } from './readers.js';
import { deviceName } from './texts.js';

const LISTENS_MAX = 8;

const output = checkedText('the name of an output', deviceName);

export const listen: ValueReader<Readonly<Record<string, string>>> = (entry, reading) => {
  const { findings } = reading;
  const named: readonly (readonly [string, Entry])[] = entry.content instanceof Map ? [...entry.content] : [];
  for (const [name, { key, keyAt }] of named) {
    const checked = deviceName(name);
    if (!checked.ok) findings.problem(keyAt, key, `is not the name of an input: ${checked.error}`);
  }
  const [, beyond] = named[LISTENS_MAX] ?? [];
  if (beyond !== undefined)
    findings.problem(
      beyond.keyAt,
      beyond.key,
      `there are ${named.length} inputs, ${LISTENS_MAX} are allowed`,
    );
  return byName(output)(entry, reading);
};
