// The arguments of a record stream as libpulse sends them for a peak meter, in the captured
// test/golden/client-peak-request.bin. Only the source differs: libpulse sends its name, and here it has the
// index 3.

import { peakStream } from '../../../src/actors/audio/levels.js';

const SOURCE_INDEX = 3;
const CHANNEL_MAP = [1, 2];
const canDeviceSleep = true;
/** libpulse requests 25 peaks a second, and `peakStream` another number. */
const sampleSpec = { format: 5, channels: 2, rate: 25 };

export const PEAKS = {
  ...peakStream(SOURCE_INDEX, CHANNEL_MAP, 'Peak detect', canDeviceSleep),
  sampleSpec,
};
