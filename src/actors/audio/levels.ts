// Pure rules of the peak meters: which outputs and inputs are metered, the stream requested for each, how its
// fragments are decoded, and the text of `audio.level` (docs/events.md, "Levels").

import { type RequestArgs, SIMPLE_STREAM } from '../../protocol/pulse/commands.js';
import type { SinkInfo, SinkInputInfo, SourceOutputInfo } from '../../protocol/pulse/records.js';
import { RAW_NORM } from '../../protocol/pulse/volume.js';
import type { SoundState } from './state.js';

/** PA_SAMPLE_FLOAT32LE: 4 bytes per sample. */
const FLOAT32 = 5;
const FLOAT32_BYTES = 4;
/**
 * More than twice the rate of sent levels, so that each level covers more than one peak, not just the one in
 * which a sound ends. It is not 25, because the resampler of PipeWire 0.3.65 crashes (SIGSEGV) when a peak
 * stream has two peaks in one cycle of its graph. The stream's own latency keeps a cycle below 50 ms.
 */
const PEAKS_PER_SECOND = 20;
/**
 * The `state` of a sleeping sink or source, also of one that was suspended while clients play to it, or
 * capture it.
 */
const SUSPENDED = 2;
/** Our captures have this name; also those of another tonearm on this sound server. */
const OWN_APPLICATION = 'tonearm';
/** -60 dB, below which a meter shows nothing: finer steps would only cause more events. */
const STEPS_PER_UNIT = 1000;

/** The highest sample of each channel, 0..1, three decimals. */
export type Peaks = readonly number[];

/** A list of `audio.level`. */
type LevelList = 'outputs' | 'inputs';

/** Levels by the index of their sink, or source. */
export type Levels = Readonly<Record<LevelList, Map<number, Peaks>>>;

type Capture = Pick<SourceOutputInfo, 'source' | 'corked' | 'props'>;

/** An output or input whose level is to be measured. */
export interface Metered {
  readonly list: LevelList;
  /** The index of its sink, or source. */
  readonly index: number;
  /** The source to capture: an output's monitor, or the input itself. */
  readonly source: number;
  readonly channelMap: readonly number[];
}

/**
 * Awake outputs with a client for which `counts` is true, by index. Muted ones count by default: they may
 * sound at any moment.
 */
export function playingSinks(
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

/** The outputs to measure, and then the inputs. `captured`: the sources that others capture. */
export function meteredDevices(
  state: Pick<SoundState, 'sinks' | 'inputs' | 'sources'>,
  captured: ReadonlySet<number>,
): readonly Metered[] {
  const metered: Metered[] = [];
  for (const { index, monitorSource, channelMap } of playingSinks(state))
    if (monitorSource !== undefined)
      metered.push({ list: 'outputs', index, source: monitorSource, channelMap });
  for (const { info } of state.sources.all)
    if (info.state !== SUSPENDED && captured.has(info.index))
      metered.push({ list: 'inputs', index: info.index, source: info.index, channelMap: info.channelMap });
  return metered;
}

/** True while an input is awake, and others may capture it. */
export function hasAwakeInput({ sources }: Pick<SoundState, 'sources'>): boolean {
  return sources.all.some(({ info }) => info.state !== SUSPENDED);
}

/** The sources that others capture: our own captures keep no input running. */
export function capturedSources(captures: readonly Capture[]): ReadonlySet<number> {
  const captured = new Set<number>();
  for (const { source, corked, props } of captures) {
    const isOurs = props['application.name'] === OWN_APPLICATION;
    if (source !== undefined && !corked && !isOurs) captured.add(source);
  }
  return captured;
}

/**
 * The smallest possible stream: one number per channel, 20 times a second. `noInhibitAutoSuspend` lets the
 * output go to sleep.
 */
export function peakStream(
  source: number,
  channelMap: readonly number[],
  name: string,
  noInhibitAutoSuspend: boolean,
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
    props: { 'media.name': name },
    directOnInput: undefined,
    noInhibitAutoSuspend,
    volume: channelMap.map(() => RAW_NORM),
  };
}

/** Decodes a fragment: float32le, channels interleaved. Clients may play samples beyond 1, or NaN. */
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

/** The loudest peaks since the last sent level; but silence is sent at once, not one level later. */
export function loudestPeaks(before: Peaks, newest: Peaks): Peaks {
  if (newest.every((peak) => peak === 0)) return newest;
  return before.map((peak, channel) => Math.max(peak, newest[channel] ?? 0));
}

/**
 * The level of every output and input whose level is known. An output has 0 where nothing plays, or only
 * muted clients do: a meter would report that 0.2 s later. An input that nobody captures has none.
 */
export function levelsNow(
  state: Pick<SoundState, 'sinks' | 'inputs' | 'sources'>,
  captured: ReadonlySet<number>,
  measured: Levels,
): Levels {
  const audible = new Set(playingSinks(state, ({ corked, muted }) => !corked && !muted));
  const levels: Levels = { outputs: new Map(), inputs: new Map() };
  for (const { info } of [...state.sinks.values()].sort((a, b) => a.info.index - b.info.index)) {
    const peaks = audible.has(info) ? measured.outputs.get(info.index) : info.channelMap.map(() => 0);
    if (peaks !== undefined) levels.outputs.set(info.index, peaks);
  }
  for (const { index } of meteredDevices(state, captured).filter(({ list }) => list === 'inputs')) {
    const peaks = measured.inputs.get(index);
    if (peaks !== undefined) levels.inputs.set(index, peaks);
  }
  return levels;
}

export function levelText({ outputs, inputs }: Levels): string {
  return JSON.stringify({
    outputs: listed(outputs),
    inputs: inputs.size > 0 ? listed(inputs) : undefined,
  });
}

function listed(levels: ReadonlyMap<number, Peaks>): readonly { id: number; peak: Peaks }[] {
  return [...levels].map(([id, peak]) => ({ id, peak }));
}
