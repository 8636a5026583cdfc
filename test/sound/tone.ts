// Writes a sine into a file of samples, for a stream whose level is known.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The rate of `SoundServer.play`. */
const RATE_HZ = 8000;
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
  const channels = amplitudes.length;
  const period = Int16Array.from({ length: PERIOD_FRAMES * channels }, (_, sample) => {
    const frame = Math.floor(sample / channels);
    const amplitude = amplitudes[sample % channels] ?? 0;
    const wave = Math.sin((2 * Math.PI * frame) / PERIOD_FRAMES);
    return Math.round(wave * amplitude * FULL_SCALE);
  });
  const path = join(directory, `tone-${amplitudes.join('-')}`);
  const periods = (RATE_HZ / PERIOD_FRAMES) * SECONDS;
  const bytes = periods * period.byteLength;
  writeFileSync(path, Buffer.alloc(bytes, Buffer.from(period.buffer)));
  return path;
}
