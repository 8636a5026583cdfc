// Reads `pulseaudio.listen`, which says where inputs are heard (docs/configuration.md, "Inputs that are
// heard"). Pure.

import { byCheckedName, checkedText, type ValueReader } from './readers.js';
import { deviceName } from './texts.js';

/** At most this many inputs can be played at outputs. */
const INPUTS_MAX = 8;

const output = checkedText('the name of an output', deviceName);

/** Each key is the name of an input. Its value is the name of the output that plays this input. */
export const listen: ValueReader<Readonly<Record<string, string>>> = byCheckedName(output, {
  max: INPUTS_MAX,
  nounPlural: 'inputs',
  nameProblem: (name) => {
    const checked = deviceName(name);
    return checked.ok ? undefined : `is not the name of an input: ${checked.error}`;
  },
});
