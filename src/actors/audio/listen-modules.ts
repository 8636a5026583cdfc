// Decides which loopbacks the sound server is to load and unload so that each input that is listened to is
// heard at its outputs (docs/http-api.md, "Listening"). Pure: it compares the observed loopbacks with the
// desired pairs, and returns the steps that are missing. Loopbacks of other programs are ignored.

import type { ModuleInfo, SinkInputInfo, SourceOutputInfo } from '../../protocol/pulse/records.js';
import { LISTEN_MARK } from './marks.js';
import { withoutQuotes } from './sound-modules.js';

/** A loopback is begun by the configuration, or by a command. */
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
  readonly sources: readonly ObservedDevice[];
  readonly sinkInputs: readonly Pick<SinkInputInfo, 'ownerModule' | 'sink'>[];
  readonly sourceOutputs: readonly Pick<SourceOutputInfo, 'ownerModule' | 'source'>[];
}

/**
 * To what a loopback is connected. `right`: to its input and its output. `wrong`: to another input or
 * output, because PipeWire 1.4 takes the default if one of the two has just gone. `loose`: one of its two
 * ends is not connected.
 */
export type LoopbackPlace = 'right' | 'wrong' | 'loose';

export interface Loopback {
  readonly module: ModuleInfo;
  readonly pair: ListenPair;
  readonly place: LoopbackPlace;
}

export type ListenStep =
  | { readonly do: 'unload'; readonly module: ModuleInfo }
  | { readonly do: 'make'; readonly pair: ListenPair };

export const LOOPBACK = 'module-loopback';

/** Names that need no quotes in an argument: the two servers read quotes in different ways. */
const PLAIN_NAME = /^[^\s\p{Cc}"'\\]+$/u;
/** The arguments that `loopbackArgument` writes, and that no other program writes. */
const OWN_ARGUMENT = new RegExp(
  `^source=(?<input>\\S+) sink=(?<output>\\S+) .*${LISTEN_MARK}=\\k<input> ${LISTEN_MARK}_by=(?<origin>\\w+)"$`,
  's',
);
const DESCRIPTION_MAX_CHARACTERS = 64;

/** False for a name that the argument of a module cannot have. */
export function isPlainName(name: string): boolean {
  return PLAIN_NAME.test(name);
}

/** `description` is the input's name for people, and becomes the name of the stream. */
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

/** Our loopbacks, in the order of their modules. */
export function loopbacksIn(observed: ObservedLoopbacks): readonly Loopback[] {
  return observed.modules.flatMap((module) => {
    const found = module.name === LOOPBACK ? OWN_ARGUMENT.exec(module.argument ?? '')?.groups : undefined;
    if (found === undefined) return [];
    const { input = '', output = '', origin } = found;
    const pair: ListenPair = {
      input,
      output,
      origin: origin === 'configuration' ? 'configuration' : 'command',
    };
    return [{ module, pair, place: placeOf(observed, module.index, pair) }];
  });
}

function placeOf(observed: ObservedLoopbacks, module: number, { input, output }: ListenPair): LoopbackPlace {
  const sinkInput = observed.sinkInputs.find(({ ownerModule }) => ownerModule === module);
  const sourceOutput = observed.sourceOutputs.find(({ ownerModule }) => ownerModule === module);
  const sink = observed.sinks.find(({ index }) => index === sinkInput?.sink);
  const source = observed.sources.find(({ index }) => index === sourceOutput?.source);
  if (sink === undefined || source === undefined) return 'loose';
  return sink.name === output && source.name === input ? 'right' : 'wrong';
}

/**
 * The modules to unload come first, then the loopbacks to make. None is made for a pair whose input or
 * output is not there. A loopback whose pair is neither desired nor ended belongs to another tonearm, and
 * stays.
 */
export function listenSteps(
  desired: readonly ListenPair[],
  ended: readonly ListenPair[],
  observed: ObservedLoopbacks,
): readonly ListenStep[] {
  const kept: Loopback[] = [];
  const steps: ListenStep[] = [];
  for (const loopback of loopbacksIn(observed)) {
    const { module, pair, place } = loopback;
    const isDesired = desired.some((other) => isSamePair(other, pair));
    const hasEnded = ended.some((other) => isSamePair(other, pair));
    const isFirst = !kept.some((other) => isSamePair(other.pair, pair));
    if (isDesired && isFirst && place === 'right') kept.push(loopback);
    else if (isDesired || hasEnded) steps.push({ do: 'unload', module });
  }
  for (const pair of desired) {
    const isKept = kept.some((other) => isSamePair(other.pair, pair));
    if (!isKept && indicesOf(pair, observed) !== undefined) steps.push({ do: 'make', pair });
  }
  return steps;
}

/** `SOURCE SINK`, the indices of the pair's input and output; undefined unless both are there. */
export function indicesOf(
  { input, output }: ListenPair,
  { sinks, sources }: ObservedLoopbacks,
): string | undefined {
  const source = sources.find(({ name }) => name === input);
  const sink = sinks.find(({ name }) => name === output);
  return source && sink && `${source.index} ${sink.index}`;
}

export function isSamePair(one: ListenPair, other: ListenPair): boolean {
  return one.input === other.input && one.output === other.output;
}

function streamName(description: string): string {
  const line = withoutQuotes(description).replace(/\p{Cc}/gu, ' ');
  return [...line].slice(0, DESCRIPTION_MAX_CHARACTERS).join('');
}
