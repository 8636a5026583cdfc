// Writes a sine into a file of samples, for a stream whose level is known.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const RATE = 8000;
/** A multiple of four, so that samples fall on the peaks. */
const PERIOD_FRAMES = 16;
const FULL_SCALE = 0x7fff;
/** The sound lasts longer than any test waits. */
const SECONDS = 120;

/**
 * Returns the path of the file, for `samples` of `SoundServer.play`. `amplitudes` has a number from 0 to 1
 * for each channel.
 */
export function toneFile(directory: string, amplitudes: readonly number[]): string {
  const period = Int16Array.from({ length: PERIOD_FRAMES * amplitudes.length }, (_, sample) => {
    const wave = Math.sin((2 * Math.PI * Math.floor(sample / amplitudes.length)) / PERIOD_FRAMES);
    return Math.round(wave * (amplitudes[sample % amplitudes.length] ?? 0) * FULL_SCALE);
  });
  const path = join(directory, `tone-${amplitudes.join('-')}`);
  const bytes = (RATE / PERIOD_FRAMES) * SECONDS * period.byteLength;
  writeFileSync(path, Buffer.alloc(bytes, Buffer.from(period.buffer)));
  return path;
}
