// Decides which loopbacks the sound server must load and unload, so that inputs are heard at the desired
// outputs (docs/http-api.md, "Listening"). A loopback is a module of the sound server, and plays one input at
// one output. Pure: listen-keeper.ts loads and unloads the loopbacks.

import { type Fault, failure } from '../../protocol/actor/faults.js';
import type { Failure } from '../../protocol/actor/result.js';
import type { ModuleInfo, SinkInputInfo, SourceOutputInfo } from '../../protocol/pulse/records.js';
import { LISTEN_MARK } from './marks.js';
import { withoutQuotes } from './sound-modules.js';

export type ListenOrigin = 'configuration' | 'command';

/** An input that is to be heard at an output, both by name. */
export interface ListenPair {
  readonly input: string;
  readonly output: string;
  readonly origin: ListenOrigin;
}

/** A sink or source. */
export interface ObservedDevice {
  readonly index: number;
  readonly name: string;
}

export interface ObservedLoopbacks {
  readonly modules: readonly ModuleInfo[];
  readonly sinks: readonly ObservedDevice[];
  /** All sources except monitors. */
  readonly sources: readonly ObservedDevice[];
  readonly sinkInputs: readonly Pick<SinkInputInfo, 'ownerModule' | 'sink'>[];
  readonly sourceOutputs: readonly Pick<SourceOutputInfo, 'ownerModule' | 'source'>[];
}

/**
 * How the two ends of a loopback are connected:
 * - `right`: to the input and the output of its pair.
 * - `wrong`: both are connected, but at least one to another device. PipeWire 1.4 takes the default device
 *   if the right one has just gone.
 * - `loose`: at least one is connected to nothing, or to a monitor.
 */
export type LoopbackEnds = 'right' | 'wrong' | 'loose';

export interface Loopback {
  readonly module: ModuleInfo;
  readonly pair: ListenPair;
  readonly latencyMs: number;
  readonly ends: LoopbackEnds;
}

export type ListenStep =
  | { readonly do: 'unload'; readonly pair: ListenPair; readonly module: ModuleInfo }
  | { readonly do: 'make'; readonly pair: ListenPair };

export const LOOPBACK_MODULE = 'module-loopback';

/**
 * Matches names that need no quotes in the argument of a module, such as `alsa_input.usb-turntable`. A device
 * whose name needs quotes gets no loopback, because PulseAudio and PipeWire read quotes differently.
 */
const PLAIN_NAME = /^[^\s\p{Cc}"'\\]+$/u;
/**
 * Matches the arguments that `loopbackArgument` makes. They have a mark that other programs do not write
 * (`LISTEN_MARK`). The value of the mark must be the name after `source=` (`\k<input>`). An example:
 * `source=mic sink=tv latency_msec=100 … tonearm.listen=mic tonearm.listen_by=command"`
 */
const OWN_ARGUMENT = new RegExp(
  `^source=(?<input>\\S+) sink=(?<output>\\S+) latency_msec=(?<latency>\\d+) .*${LISTEN_MARK}=\\k<input> ${LISTEN_MARK}_by=(?<origin>\\w+)"$`,
  's',
);
const DESCRIPTION_MAX_CHARACTERS = 64;

/**
 * Undefined if a loopback can be made with this name. Two devices of one name are refused, because a
 * loopback finds its devices by name.
 */
export function nameRefusal(name: string, devices: readonly ObservedDevice[]): Failure<Fault> | undefined {
  const quoted = JSON.stringify(name);
  if (!PLAIN_NAME.test(name))
    return failure('refused', `The sound server cannot be given the name ${quoted} for a loopback`);
  if (devices.filter((device) => device.name === name).length <= 1) return undefined;
  return failure('same-name', `Another one is called ${quoted}, too, and a loopback is made by name`);
}

/** `description` is the input's name for people. The two streams of the loopback get it as their name. */
export function loopbackArgument(pair: ListenPair, description: string, latencyMs: number): string {
  const { input, output, origin } = pair;
  const name = streamName(description);
  const mark = `${LISTEN_MARK}=${input} ${LISTEN_MARK}_by=${origin}`;
  return [
    `source=${input} sink=${output} latency_msec=${latencyMs}`,
    'source_dont_move=true sink_dont_move=true',
    `source_output_properties="media.name='${name}'" sink_input_properties="media.name='${name}' ${mark}"`,
  ].join(' ');
}

/** The loopbacks that this daemon or another tonearm has made, in the order of their modules. */
export function loopbacksIn(observed: ObservedLoopbacks): readonly Loopback[] {
  const loopbacks: Loopback[] = [];
  for (const module of observed.modules) {
    const parsed = module.name === LOOPBACK_MODULE ? parseOwnArgument(module.argument ?? '') : undefined;
    if (parsed !== undefined)
      loopbacks.push({ module, ...parsed, ends: endsOf(observed, module.index, parsed.pair) });
  }
  return loopbacks;
}

/** Undefined if another program has written the argument. */
function parseOwnArgument(argument: string): Pick<Loopback, 'pair' | 'latencyMs'> | undefined {
  const groups = OWN_ARGUMENT.exec(argument)?.groups;
  if (groups === undefined) return undefined;
  const { input = '', output = '' } = groups;
  // An unknown origin counts as `command`.
  const origin = groups['origin'] === 'configuration' ? 'configuration' : 'command';
  return { pair: { input, output, origin }, latencyMs: Number(groups['latency']) };
}

function endsOf(observed: ObservedLoopbacks, module: number, { input, output }: ListenPair): LoopbackEnds {
  const sinkInput = observed.sinkInputs.find(({ ownerModule }) => ownerModule === module);
  const sourceOutput = observed.sourceOutputs.find(({ ownerModule }) => ownerModule === module);
  const sink = observed.sinks.find(({ index }) => index === sinkInput?.sink);
  const source = observed.sources.find(({ index }) => index === sourceOutput?.source);
  if (sink === undefined || source === undefined) return 'loose';
  return sink.name === output && source.name === input ? 'right' : 'wrong';
}

/**
 * Returns the steps: first the modules to unload, then the loopbacks to make. These rules decide:
 * - A loopback of a desired pair stays if its ends are `right`, its latency and origin are the desired ones,
 *   and it is the first such loopback of the pair. Otherwise it is unloaded.
 * - A loopback of a pair in `ended` is unloaded.
 * - All other loopbacks stay, because another tonearm may have made them.
 * - A desired pair gets a new loopback if none of its loopbacks stays, and its input and output are there.
 */
export function listenSteps(
  desired: readonly ListenPair[],
  ended: readonly ListenPair[],
  observed: ObservedLoopbacks,
  latencyMs: number,
): readonly ListenStep[] {
  const kept: Loopback[] = [];
  const steps: ListenStep[] = [];
  for (const loopback of loopbacksIn(observed)) {
    const { module, pair } = loopback;
    const desiredPair = desired.find((other) => isSamePair(other, pair));
    const hasEnded = ended.some((other) => isSamePair(other, pair));
    const isFirst = !kept.some((other) => isSamePair(other.pair, pair));
    const isAsDesired = pair.origin === desiredPair?.origin && loopback.latencyMs === latencyMs;
    if (isAsDesired && isFirst && loopback.ends === 'right') kept.push(loopback);
    else if (desiredPair !== undefined || hasEnded) steps.push({ do: 'unload', pair, module });
  }
  for (const pair of desired) {
    const isKept = kept.some((other) => isSamePair(other.pair, pair));
    if (!isKept && pairIndices(pair, observed) !== undefined) steps.push({ do: 'make', pair });
  }
  return steps;
}

/**
 * The indices of the pair's source and sink, as one text that can be compared, such as `3 12`. Undefined if
 * one of the two is missing.
 */
export function pairIndices(
  { input, output }: ListenPair,
  { sinks, sources }: ObservedLoopbacks,
): string | undefined {
  const source = sources.find(({ name }) => name === input);
  const sink = sinks.find(({ name }) => name === output);
  return source === undefined || sink === undefined ? undefined : `${source.index} ${sink.index}`;
}

/** True if the two pairs have the same input and the same output. Their origins may differ. */
export function isSamePair(one: ListenPair, other: ListenPair): boolean {
  return one.input === other.input && one.output === other.output;
}

function streamName(description: string): string {
  const plainText = withoutQuotes(description).replace(/\p{Cc}/gu, ' ');
  return [...plainText].slice(0, DESCRIPTION_MAX_CHARACTERS).join('');
}
