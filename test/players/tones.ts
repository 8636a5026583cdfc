// Music for real players, made here: a sine in a WAV file with its title, artist and album, and a picture
// for a cover.

import { writeFileSync } from 'node:fs';

/**
 * Players read some KiB at a time, and jump only to the beginning of such a portion. At this high rate a
 * portion lasts only a short time.
 */
const RATE_HZ = 48_000;
const PITCH_HZ = 440;
/** The amplitude, of at most 127: samples are unsigned bytes, silence is 128. */
const LOUDNESS = 20;

export interface Tone {
  readonly title: string;
  readonly artist: string;
  readonly album: string;
  readonly seconds: number;
}

/** A PNG of one pixel. */
export const COVER = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);

/** A chunk of RIFF: name, length, content, padded to an even length. */
function chunk(name: string, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const head = Buffer.from(`${name}\0\0\0\0`, 'latin1');
  head.writeUInt32LE(content.length, 4);
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
}

function format(): Buffer {
  const fields = Buffer.alloc(16);
  // The first word has two fields, and so has the last. The lower half is written first. 0x10001 is PCM (1)
  // and 1 channel, 0x80001 is 1 byte and 8 bits per sample. The words between them are samples per second
  // and bytes per second.
  for (const [index, word] of [0x10001, RATE_HZ, RATE_HZ, 0x80001].entries())
    fields.writeUInt32LE(word, 4 * index);
  return fields;
}

/** Writes a WAV file; its tags are those of RIFF's list INFO, in UTF-8. */
export function writeTone(path: string, { title, artist, album, seconds }: Tone): void {
  const oneSecond = Uint8Array.from({ length: RATE_HZ }, (_, sample) =>
    Math.round(128 + LOUDNESS * Math.sin((2 * Math.PI * PITCH_HZ * sample) / RATE_HZ)),
  );
  const samples = Buffer.alloc(seconds * RATE_HZ, oneSecond);
  const tags = Object.entries({ INAM: title, IART: artist, IPRD: album }).map(([name, value]) =>
    chunk(name, Buffer.from(`${value}\0`)),
  );
  const info = chunk('LIST', Buffer.from('INFO'), ...tags);
  const wave = [Buffer.from('WAVE'), chunk('fmt ', format()), info, chunk('data', samples)];
  writeFileSync(path, chunk('RIFF', ...wave));
}
