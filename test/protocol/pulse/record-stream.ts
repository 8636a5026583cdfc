// The arguments of a record stream as libpulse sends them for a peak meter, in the captured
// test/golden/client-peak-request.bin. Only the source differs: libpulse sends its name, and here it has the
// index 3. The daemon takes another rate.

import { peakStream } from '../../../src/actors/audio/levels.js';

const sampleSpec = { format: 5, channels: 2, rate: 25 };
export const PEAKS = { ...peakStream(3, [1, 2], 'Peak detect', true), sampleSpec };
