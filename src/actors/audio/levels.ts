// Decides which outputs and inputs have peak meters, what a meter requests of the sound server, and what
// `audio.level` contains (docs/events.md, "Levels"). Pure.

import { type RequestArgs, SIMPLE_STREAM } from '../../protocol/pulse/commands.js';
import type { SinkInfo, SinkInputInfo, SourceOutputInfo } from '../../protocol/pulse/records.js';
import { RAW_NORM } from '../../protocol/pulse/volume.js';
import { SUSPENDED } from './device-states.js';
import type { SoundState } from './state.js';

/** The protocol's number for PA_SAMPLE_FLOAT32LE. A sample of this format has 4 bytes. */
const FLOAT32 = 5;
const FLOAT32_BYTES = 4;
const IS_LITTLE_ENDIAN = true;
/**
 * At most 8 levels are sent in a second while they change all the time (`later` in meters.ts). Each level
 * must be the maximum of at least two peaks, because a single peak could be only the end of a sound. So
 * peaks come more than twice as often as levels. A rate of 25 is too high: two peaks might fall into one
 * cycle of PipeWire's graph, and then the resampler of PipeWire 0.3.65 crashes (SIGSEGV). At a rate of 20,
 * two peaks are 50 ms apart, and the latency of the stream keeps each cycle shorter than 50 ms.
 */
const PEAKS_PER_SECOND = 20;
/**
 * The application name of our captures (source outputs), and of those that another tonearm has on this sound
 * server.
 */
const OWN_APPLICATION = 'tonearm';
/**
 * Levels are rounded to steps of 1/1000. One step is -60 dB, and the page's meters display nothing below it.
 * Finer steps would only cause more events.
 */
const STEPS_PER_UNIT = 1000;

/** The highest sample of each channel, 0..1, three decimals. */
export type Peaks = readonly number[];

/** The two lists in `audio.level`. */
type LevelList = 'outputs' | 'inputs';

/** Levels by the index of their sink, or source. */
export type Levels = Readonly<Record<LevelList, Map<number, Peaks>>>;

type Capture = Pick<SourceOutputInfo, 'source' | 'corked' | 'props'>;

/** An output or input whose level is to be measured. */
export interface MeteredDevice {
  readonly list: LevelList;
  /** The index of its sink, or source. */
  readonly index: number;
  /** The index of the source to capture: an output's monitor, or the input itself. */
  readonly source: number;
  readonly channelMap: readonly number[];
}

/** A muted stream counts as playing, because its mute may end at any moment. */
const isPlaying = ({ corked }: SinkInputInfo): boolean => !corked;
const isAudible = ({ corked, muted }: SinkInputInfo): boolean => !corked && !muted;

/** The sinks that are not suspended and have a stream for which `isCounted` is true, sorted by index. */
export function playingSinks(
  { sinks, sinkInputs }: Pick<SoundState, 'sinks' | 'sinkInputs'>,
  isCounted = isPlaying,
): readonly SinkInfo[] {
  const playedSinks = new Set<number | undefined>();
  for (const { info } of sinkInputs.values()) if (isCounted(info)) playedSinks.add(info.sink);
  return [...sinks.values()]
    .map(({ info }) => info)
    .filter(({ index, state }) => playedSinks.has(index) && state !== SUSPENDED)
    .sort((a, b) => a.index - b.index);
}

/**
 * The devices to measure: first outputs, then inputs. `capturedSources` has the indices of the sources that
 * other programs capture.
 */
export function meteredDevices(
  state: Pick<SoundState, 'sinks' | 'sinkInputs' | 'sources'>,
  capturedSources: ReadonlySet<number>,
): readonly MeteredDevice[] {
  const metered: MeteredDevice[] = [];
  for (const { index, monitorSource, channelMap } of playingSinks(state)) {
    if (monitorSource !== undefined)
      metered.push({ list: 'outputs', index, source: monitorSource, channelMap });
  }
  for (const { info } of state.sources.all) {
    const { index, channelMap } = info;
    if (info.state !== SUSPENDED && capturedSources.has(index))
      metered.push({ list: 'inputs', index, source: index, channelMap });
  }
  return metered;
}

/** True if an input is not suspended. Only such an input can have a level. */
export function hasAwakeInput({ sources }: Pick<SoundState, 'sources'>): boolean {
  return sources.all.some(({ info }) => info.state !== SUSPENDED);
}

/** The indices of the captured sources. Our own captures and corked ones do not count. */
export function sourcesCapturedBy(captures: readonly Capture[]): ReadonlySet<number> {
  const capturedSources = new Set<number>();
  for (const { source, corked, props } of captures) {
    const isOurs = props['application.name'] === OWN_APPLICATION;
    if (source !== undefined && !corked && !isOurs) capturedSources.add(source);
  }
  return capturedSources;
}

/**
 * The smallest possible stream: one peak per channel, `PEAKS_PER_SECOND` times a second. If
 * `letsDeviceSleep` is true, the stream does not keep its device awake.
 */
export function peakStream(
  source: number,
  channelMap: readonly number[],
  streamName: string,
  letsDeviceSleep: boolean,
): RequestArgs<'CREATE_RECORD_STREAM'> {
  const channels = channelMap.length;
  return {
    ...SIMPLE_STREAM,
    sampleSpec: { format: FLOAT32, channels, rate: PEAKS_PER_SECOND },
    channelMap,
    source,
    corked: false,
    fragmentLength: channels * FLOAT32_BYTES,
    noMove: true,
    peakDetect: true,
    adjustLatency: true,
    props: { 'media.name': streamName },
    directOnInput: undefined,
    noInhibitAutoSuspend: letsDeviceSleep,
    volume: channelMap.map(() => RAW_NORM),
  };
}

/**
 * `fragment` has little-endian float32 samples, and its channels are interleaved. Clients may play samples
 * above 1, which count as 1. They may also play NaN, which is ignored.
 */
export function peaksOf(fragment: Uint8Array, channels: number): Peaks {
  const view = new DataView(fragment.buffer, fragment.byteOffset, fragment.byteLength);
  const peaks = new Array<number>(channels).fill(0);
  const sampleCount = Math.floor(fragment.byteLength / FLOAT32_BYTES);
  for (let sample = 0; sample < sampleCount; sample += 1) {
    const peak = view.getFloat32(sample * FLOAT32_BYTES, IS_LITTLE_ENDIAN);
    const channel = sample % channels;
    if (peak > (peaks[channel] ?? 0)) peaks[channel] = Math.min(1, peak);
  }
  return peaks.map((peak) => Math.round(peak * STEPS_PER_UNIT) / STEPS_PER_UNIT);
}

export function areSamePeaks(a: Peaks, b: Peaks): boolean {
  return a.every((peak, channel) => peak === b[channel]);
}

/**
 * The louder peak of each channel. If all newest peaks are 0, the result is 0, too. Without this exception,
 * silence would be sent one level later.
 */
export function louderPeaks(before: Peaks, newest: Peaks): Peaks {
  if (newest.every((peak) => peak === 0)) return newest;
  return before.map((peak, channel) => Math.max(peak, newest[channel] ?? 0));
}

/**
 * The level of every output and input whose level is known. An output without an audible stream has 0 at
 * once, because its meter would measure the silence only 0.2 s later. An input has no level while it is
 * suspended, or while no other program captures it.
 */
export function currentLevels(
  state: Pick<SoundState, 'sinks' | 'sinkInputs' | 'sources'>,
  capturedSources: ReadonlySet<number>,
  measured: Levels,
): Levels {
  const audibleSinks = new Set(playingSinks(state, isAudible));
  const levels: Levels = { outputs: new Map(), inputs: new Map() };
  const sinks = [...state.sinks.values()].sort((a, b) => a.info.index - b.info.index);
  for (const { info } of sinks) {
    const peaks = audibleSinks.has(info) ? measured.outputs.get(info.index) : info.channelMap.map(() => 0);
    if (peaks !== undefined) levels.outputs.set(info.index, peaks);
  }
  const meteredInputs = meteredDevices(state, capturedSources).filter(({ list }) => list === 'inputs');
  for (const { index } of meteredInputs) {
    const peaks = measured.inputs.get(index);
    if (peaks !== undefined) levels.inputs.set(index, peaks);
  }
  return levels;
}

/** `inputs` is left out of the text if no input has a level. */
export function levelText({ outputs, inputs }: Levels): string {
  return JSON.stringify({
    outputs: levelEntries(outputs),
    inputs: inputs.size > 0 ? levelEntries(inputs) : undefined,
  });
}

function levelEntries(levels: ReadonlyMap<number, Peaks>): readonly { id: number; peak: Peaks }[] {
  return [...levels].map(([id, peak]) => ({ id, peak }));
}
