// What a peak meter is and says: which outputs are worth one, the stream that it asks for, what its fragments mean, and the text of
// `audio.level` (docs/events.md, "Levels"). Pure.

import type { RequestArgs } from '../../protocol/pulse/commands.js';
import type { SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';
import { RAW_NORM } from '../../protocol/pulse/volume.js';
import type { SoundState } from './state.js';

/** PA_SAMPLE_FLOAT32LE, of 4 bytes. */
const FLOAT32 = 5;
const FLOAT32_BYTES = 4;
/**
 * More than twice what is told: the peak in which a sound ends is not all that a level is made of. Not 25: PipeWire 0.3.65 dies of a
 * peak stream that has two peaks in one cycle of its graph (measured: SIGSEGV in its resampler). The stream's own latency keeps a
 * cycle below 50 ms.
 */
const PEAKS_PER_SECOND = 20;
/** `SinkInfo.state` of an output that sleeps: also one that was put to sleep while clients play to it. */
const SUSPENDED = 2;
/** -60 dB, below which a meter shows nothing: finer steps would only be told more often. */
const STEPS_PER_UNIT = 1000;

/** Per channel the highest sample, 0..1, three decimals. */
export type Peaks = readonly number[];

/** Outputs that a client for which `counts` plays to and that do not sleep all the same, by index. A muted one may sound any moment. */
export function sounding(
  { sinks, inputs }: Pick<SoundState, 'sinks' | 'inputs'>,
  counts = ({ corked }: SinkInputInfo): boolean => !corked,
): readonly SinkInfo[] {
  const played = new Set<number | undefined>();
  for (const { info } of inputs.values()) if (counts(info)) played.add(info.sink);
  return [...sinks.values()]
    .map(({ info }) => info)
    .filter(({ index, state }) => played.has(index) && state !== SUSPENDED)
    .sort((a, b) => a.index - b.index);
}

/** As little as a stream can carry: one number per channel, 20 times a second. `noInhibitAutoSuspend`: it keeps nothing awake. */
export function peakStream(
  source: number,
  channelMap: readonly number[],
  name: string,
  noInhibitAutoSuspend: boolean,
): RequestArgs<'CREATE_RECORD_STREAM'> {
  const channels = channelMap.length;
  return {
    sampleSpec: { format: FLOAT32, channels, rate: PEAKS_PER_SECOND },
    channelMap,
    source,
    maxLength: undefined,
    corked: false,
    fragmentLength: channels * FLOAT32_BYTES,
    noRemap: false,
    noRemix: false,
    fixFormat: false,
    fixRate: false,
    fixChannels: false,
    noMove: true,
    variableRate: false,
    peakDetect: true,
    adjustLatency: true,
    props: { 'media.name': name },
    directOnInput: undefined,
    earlyRequests: false,
    noInhibitAutoSuspend,
    failOnSuspend: false,
    formats: [],
    volume: channelMap.map(() => RAW_NORM),
    muted: false,
    volumeSet: false,
    mutedSet: false,
    relativeVolume: false,
    passthrough: false,
  };
}

/** What a fragment says: float32le, the channels interleaved. A client may play what is beyond 1, or is no number at all. */
export function peaksOf(fragment: Uint8Array, channels: number): Peaks {
  const view = new DataView(fragment.buffer, fragment.byteOffset, fragment.byteLength);
  const peaks = new Array<number>(channels).fill(0);
  for (let at = 0; (at + 1) * FLOAT32_BYTES <= fragment.byteLength; at += 1) {
    const peak = view.getFloat32(at * FLOAT32_BYTES, true);
    const channel = at % channels;
    if (peak > (peaks[channel] ?? 0)) peaks[channel] = Math.min(1, peak);
  }
  return peaks.map((peak) => Math.round(peak * STEPS_PER_UNIT) / STEPS_PER_UNIT);
}

export function isSame(a: Peaks, b: Peaks): boolean {
  return a.every((peak, channel) => peak === b[channel]);
}

/** Of what is told as one the loudest; but silence behind it is told as silence, not one level later. */
export function heldPeaks(before: Peaks, newest: Peaks): Peaks {
  if (newest.every((peak) => peak === 0)) return newest;
  return before.map((peak, channel) => Math.max(peak, newest[channel] ?? 0));
}

/** By sink, in order. */
type LevelsBySink = ReadonlyMap<number, Peaks>;

/**
 * The level of every output where it is known: 0 where nothing plays, or only what is muted, which a meter would tell up to 0.2 s later;
 * where something does, what was `measured`, which is nothing before the first fragment, or the 0 of before.
 */
export function levelsNow(
  state: Pick<SoundState, 'sinks' | 'inputs'>,
  measured: LevelsBySink,
): Map<number, Peaks> {
  const heard = new Set(sounding(state, ({ corked, muted }) => !corked && !muted));
  const levels = new Map<number, Peaks>();
  for (const { info } of [...state.sinks.values()].sort((a, b) => a.info.index - b.info.index)) {
    const peaks = heard.has(info) ? measured.get(info.index) : info.channelMap.map(() => 0);
    if (peaks !== undefined) levels.set(info.index, peaks);
  }
  return levels;
}

/** The data of `audio.level`. */
export function levelText(levels: LevelsBySink): string {
  return JSON.stringify({ outputs: [...levels].map(([id, peak]) => ({ id, peak })) });
}
