// Recognizes passthrough streams, which are played unchanged, such as AC-3 for an amplifier. Neither such a
// stream nor its output has a volume. Pure.

import type { SinkInputInfo } from '../../protocol/pulse/records.js';

/**
 * PA_ENCODING_PCM. Streams with a higher encoding are passthrough streams. The only lower encoding is 0
 * ("any"), which a server reports for an unknown encoding. A stream with encoding 0 counts as PCM.
 */
const PCM = 1;

/** The names by `encoding`, from libpulse's format.h. */
const ENCODINGS = ['any', 'PCM', 'AC-3', 'E-AC-3', 'MPEG', 'DTS', 'AAC', 'TrueHD', 'DTS-HD'];

/**
 * False for a passthrough stream, because the volume in its record means nothing. A stream of PCM is a
 * passthrough stream, too, if its record has no volume: `stream.hasVolume` is false, or `stream.volume` is
 * empty.
 */
export function hasVolume(stream: SinkInputInfo): boolean {
  return stream.hasVolume && stream.volume.length > 0 && stream.format.encoding <= PCM;
}

/** Returns the words that follow `is played` in the text of a refusal. */
export function howPlayed({ format: { encoding } }: SinkInputInfo): string {
  if (encoding <= PCM) return 'as it is (passthrough)';
  const name = ENCODINGS[encoding];
  return name === undefined ? 'as it is encoded (passthrough)' : `as ${name} (passthrough)`;
}

/**
 * Finds a passthrough stream on the sink with this index. While the sink has one, PulseAudio accepts a volume
 * for the sink and ignores it, but a mute works (docs/development/what-we-learnt.md, "PulseAudio and
 * PipeWire").
 */
export function passthroughOn<S extends { readonly info: SinkInputInfo }>(
  sinkInputs: ReadonlyMap<number, S>,
  sink: number,
): S | undefined {
  for (const stream of sinkInputs.values())
    if (stream.info.sink === sink && !hasVolume(stream.info)) return stream;
  return undefined;
}
