// A sine as a file of samples, for streams whose level is known.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const RATE = 8000;
/** A sixteenth of the rate, so that samples fall on the peaks. */
const FREQUENCY = 500;
const FULL_SCALE = 0x7fff;
const BYTES_PER_SAMPLE = 2;
/** Longer than any test waits. */
const SECONDS = 120;

/** `amplitudes`: one per channel, 0..1. Answers with the file's path, for `SoundServer.play`. */
export function toneFile(directory: string, amplitudes: readonly number[]): string {
  const samples = Buffer.alloc(RATE * SECONDS * amplitudes.length * BYTES_PER_SAMPLE);
  for (let at = 0; at < RATE * SECONDS; at += 1) {
    const wave = Math.sin((2 * Math.PI * FREQUENCY * at) / RATE);
    for (const [channel, amplitude] of amplitudes.entries()) {
      const sample = Math.round(wave * amplitude * FULL_SCALE);
      samples.writeInt16LE(sample, (at * amplitudes.length + channel) * BYTES_PER_SAMPLE);
    }
  }
  const path = join(directory, `tone-${amplitudes.join('-')}`);
  writeFileSync(path, samples);
  return path;
}
