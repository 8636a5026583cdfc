// Recognizes passthrough: a stream that is played as it is, such as AC-3 for an amplifier, so that neither
// the stream nor its output has a volume. PulseAudio accepts a volume for such an output and ignores it, but
// a mute works (docs/development/what-we-learnt.md, "PulseAudio and PipeWire"). Pure.

import type { SinkInputInfo } from '../../protocol/pulse/records.js';

/**
 * PA_ENCODING_PCM. The only lower number is "any", which a server reports when it does not know the
 * encoding.
 */
const PCM = 1;

/** By `encoding` in libpulse's format.h. */
const ENCODINGS = ['any', 'PCM', 'AC-3', 'E-AC-3', 'MPEG', 'DTS', 'AAC', 'TrueHD', 'DTS-HD'];

/** False for passthrough. Then the volume in the record means nothing. */
export function hasVolume({ hasVolume: isReadable, volume, format }: SinkInputInfo): boolean {
  return isReadable && volume.length > 0 && format.encoding <= PCM;
}

/** How a stream without a volume is played, as a part of the sentence that refuses a command. */
export function howPlayed({ format: { encoding } }: SinkInputInfo): string {
  return encoding > PCM
    ? `as ${ENCODINGS[encoding] ?? 'it is encoded'} (passthrough)`
    : 'as it is (passthrough)';
}

/**
 * Finds the passthrough stream on a sink: while it is played, the sink has no volume. `sink` is an index.
 */
export function passthroughOn<S extends { readonly info: SinkInputInfo }>(
  sinkInputs: ReadonlyMap<number, S>,
  sink: number,
): S | undefined {
  for (const stream of sinkInputs.values())
    if (stream.info.sink === sink && !hasVolume(stream.info)) return stream;
  return undefined;
}
