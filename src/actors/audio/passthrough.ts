// Passthrough: streams that are played as they are, such as AC-3 for an amplifier, so that neither they nor
// their output have a volume. PulseAudio accepts a volume for such an output and ignores it, but a mute works
// (docs/development/what-we-learnt.md, "PulseAudio and PipeWire"). Pure.

import type { SinkInputInfo } from '../../protocol/pulse/records.js';

/** PA_ENCODING_PCM. Lower is "any", which a server names when it does not know. */
const PCM = 1;

/** By `encoding` in libpulse's format.h. */
const ENCODINGS = ['any', 'PCM', 'AC-3', 'E-AC-3', 'MPEG', 'DTS', 'AAC', 'TrueHD', 'DTS-HD'];

/** False for passthrough: the volume in the record means nothing. */
export function hasVolume({ hasVolume: isReadable, volume, format }: SinkInputInfo): boolean {
  return isReadable && volume.length > 0 && format.encoding <= PCM;
}

/** How the stream is played, for a refusal. */
export function howPlayed({ format: { encoding } }: SinkInputInfo): string {
  return encoding > PCM
    ? `as ${ENCODINGS[encoding] ?? 'it is encoded'} (passthrough)`
    : 'as it is (passthrough)';
}

/** A stream under which the sink has no volume. */
export function passthroughOn<I extends { readonly info: SinkInputInfo }>(
  inputs: ReadonlyMap<number, I>,
  sink: number,
): I | undefined {
  for (const input of inputs.values()) if (input.info.sink === sink && !hasVolume(input.info)) return input;
  return undefined;
}
