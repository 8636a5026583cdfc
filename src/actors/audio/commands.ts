// Plans which request to the sound server a command needs, from the state as last read. Pure: it sends
// nothing.

import type { AudioTarget } from '../../protocol/actor/commands.js';
import type { Fault } from '../../protocol/actor/faults.js';
import type { SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';
import { channelsOf, loudestOf, partsOf, rawOf } from '../../protocol/pulse/volume.js';
import { planForInput, planInputLevel } from './input-commands.js';
import { hasVolume, howPlayed, passthroughOn } from './passthrough.js';
import type { ReadRequest } from './refetch.js';
import {
  channelsAt,
  faultOf,
  faultPlan,
  NOTHING,
  notFound,
  type SettingPlan,
  type SoundCommand,
  setPlan,
  volumeAfter,
} from './setting-plan.js';
import type { KnownRecord, SoundState } from './state.js';

type CommandTarget =
  | { readonly kind: 'sink'; readonly record: KnownRecord<SinkInfo> }
  | { readonly kind: 'sink-input'; readonly record: KnownRecord<SinkInputInfo> };

/** The targets that play. Commands for inputs are planned in input-commands.ts. */
type PlayingTarget = Exclude<AudioTarget, { readonly kind: 'input' }>;

function resolveTarget(state: SoundState, target: PlayingTarget): CommandTarget | SettingPlan {
  if (target.kind === 'client') {
    const record = state.findInput(target.ref);
    return record === undefined ? notFound('client', target.ref) : { kind: 'sink-input', record };
  }
  const record = target.kind === 'output' ? state.findSink(target.ref) : state.defaultSink();
  if (record !== undefined) return { kind: 'sink', record };
  if (target.kind === 'output') return notFound('output', target.ref);
  return faultPlan('no-such-output', 'There is no default output');
}

function planMute(target: CommandTarget, desired: boolean | undefined): SettingPlan {
  const { index, muted: before } = target.record.info;
  const args = { index, muted: desired ?? !before };
  const command = target.kind === 'sink' ? 'SET_SINK_MUTE' : 'SET_SINK_INPUT_MUTE';
  return setPlan({ command, args }, target.kind, index);
}

/** The refusal for a target that takes no volume; undefined if it takes one. */
function planWithoutVolume(state: SoundState, target: CommandTarget): SettingPlan | undefined {
  if (target.kind === 'sink') {
    const input = passthroughOn(state.inputs, target.record.info.index);
    if (input === undefined) return undefined;
    const detail = `The output has no volume while ${JSON.stringify(input.name)} is played ${howPlayed(input.info)}`;
    return faultOf({ of: 'sink-input', index: input.info.index }, 'no-volume', detail);
  }
  const { info } = target.record;
  const why = hasVolume(info) ? 'it follows its output' : `it is played ${howPlayed(info)}`;
  if (hasVolume(info) && info.volumeWritable) return undefined;
  const basis: ReadRequest = { of: 'sink-input', index: info.index };
  return faultOf(basis, 'no-volume', `The stream has no volume of its own: ${why}`);
}

/** `desired` is undefined if the volume is to stay unchanged. */
function planVolume(
  { kind, record: { info, balance } }: CommandTarget,
  desired: number | undefined,
): SettingPlan {
  if (desired === undefined) return NOTHING;
  const args = { index: info.index, volume: channelsAt(desired, info.volume, balance) };
  const command = kind === 'sink' ? 'SET_SINK_VOLUME' : 'SET_SINK_INPUT_VOLUME';
  return setPlan({ command, args }, kind, info.index);
}

function planBalance(state: SoundState, sink: KnownRecord<SinkInfo>, desired: number): SettingPlan {
  const { index, volume, channelMap } = sink.info;
  const balance = partsOf(desired, channelMap);
  if (balance === undefined)
    return faultPlan('not-stereo', 'The output needs exactly two channels, left and right');
  const refusal = planWithoutVolume(state, { kind: 'sink', record: sink });
  if (refusal !== undefined) return refusal;
  const limit = state.limits.of(sink.info) ?? Number.POSITIVE_INFINITY;
  const loudest = Math.min(loudestOf(volume), rawOf(limit));
  const args = { index, volume: channelsOf(balance, loudest) };
  const plan = setPlan({ command: 'SET_SINK_VOLUME', args }, 'sink', index);
  return { ...plan, remember: balance };
}

function planPort({ index, ports }: SinkInfo, port: string): SettingPlan {
  const basis: ReadRequest = { of: 'sink', index };
  if (ports.length === 0) return faultOf(basis, 'no-ports', 'The output has no ports to switch between');
  if (!ports.some(({ name }) => name === port))
    return faultOf(basis, 'no-such-port', `The output has no port ${JSON.stringify(port)}`);
  return setPlan({ command: 'SET_SINK_PORT', args: { index, port } }, 'sink', index);
}

function planProfile(state: SoundState, ref: string, desired: string): SettingPlan {
  const card = state.findCard(ref);
  if (card === undefined) return notFound('card', ref);
  const { index, profiles } = card;
  const basis: ReadRequest = { of: 'card', index };
  const profile = profiles.find(({ name }) => name === desired);
  const named = JSON.stringify(desired);
  if (profile === undefined) return faultOf(basis, 'no-such-profile', `The card has no profile ${named}`);
  const unplugged = `Profile ${named} cannot be used now: nothing is plugged in for it`;
  if (profile.available === 0) return faultOf(basis, 'profile-unavailable', unplugged);
  return setPlan({ command: 'SET_CARD_PROFILE', args: { index, profile: desired } }, 'card', index);
}

/** PulseAudio takes the name alone, and PipeWire then takes the first output of that name. */
function planDefault(state: SoundState, { index, name }: SinkInfo): SettingPlan {
  const other = [...state.sinks.values()].find(({ info }) => info.name === name && info.index !== index);
  if (other === undefined) return setPlan({ command: 'SET_DEFAULT_SINK', args: { name } }, 'server');
  const detail = `Output ${other.info.index} is called ${JSON.stringify(name)}, too, and the sound server knows the default only by name`;
  return faultOf({ of: 'sink', index: other.info.index }, 'same-name', detail);
}

function planMove(state: SoundState, clientRef: string, outputRef: string): SettingPlan {
  const client = state.findInput(clientRef);
  if (client === undefined) return notFound('client', clientRef);
  const sink = state.findSink(outputRef);
  if (sink === undefined) return notFound('output', outputRef);
  const { index } = client.info;
  const limit = state.limits.of(sink.info) ?? 1;
  if (!hasVolume(client.info) && limit < 1 && client.info.sink !== sink.info.index) {
    const detail = `The stream is played ${howPlayed(client.info)}, which sets the output to 100 %, above its volume_limit`;
    return faultOf({ of: 'sink-input', index }, 'no-volume', detail);
  }
  return setPlan({ command: 'MOVE_SINK_INPUT', args: { index, sink: sink.info.index } }, 'sink-input', index);
}

function planKeepLimit(state: SoundState, record: KnownRecord<SinkInfo>): SettingPlan {
  const isAbove = state.limits.isExceeded(record.info);
  return isAbove ? planVolume({ kind: 'sink', record }, state.limits.of(record.info)) : NOTHING;
}

/** A volume above the output's limit, or above `unlimited` where it has none, becomes that. */
function planOwnVolume(
  state: SoundState,
  record: KnownRecord<SinkInfo>,
  volume: number,
  unlimited: number,
): SettingPlan {
  const target: CommandTarget = { kind: 'sink', record };
  const most = state.limits.of(record.info) ?? unlimited;
  return planWithoutVolume(state, target) ?? planVolume(target, Math.min(volume, most));
}

/** A volume, or a step, of a sink or a stream. */
function planLevel(
  state: SoundState,
  target: CommandTarget,
  command: Extract<SoundCommand, { readonly do: 'volume' | 'delta' }>,
): SettingPlan {
  const refusal = planWithoutVolume(state, target);
  if (refusal !== undefined) return refusal;
  const ofSink = target.kind === 'sink';
  const limit = ofSink ? state.limits.of(target.record.info) : state.limits.ofFlat(target.record.info);
  if (command.do === 'delta') {
    const from = ofSink ? state.stepsFrom(target.record.info) : target.record.info.volume;
    return planVolume(target, volumeAfter(command.delta, from, limit));
  }
  if (ofSink && limit !== undefined && command.volume > limit)
    return faultPlan('bad-value', `Field volume must be at most ${limit}, the output's volume_limit`);
  return planVolume(target, Math.min(limit ?? 1, 1, Math.max(0, command.volume)));
}

export function planCommand(state: SoundState, command: SoundCommand): SettingPlan {
  if (command.do === 'move') return planMove(state, command.client, command.output);
  if (command.do === 'profile') return planProfile(state, command.card, command.profile);
  if ('input' in command) return planForInput(state.sources, command);
  if ('output' in command) {
    const record = state.findSink(command.output);
    if (record === undefined) return notFound('output', command.output);
    if (command.do === 'port') return planPort(record.info, command.port);
    if (command.do === 'balance') return planBalance(state, record, command.balance);
    if (command.do === 'keep-limit') return planKeepLimit(state, record);
    if (command.do === 'start-volume') return planOwnVolume(state, record, command.volume, 1);
    // The volume from before a fade may be above 100 %.
    if (command.do === 'fade') return planOwnVolume(state, record, command.volume, Number.POSITIVE_INFINITY);
    return planDefault(state, record.info);
  }
  const { target: named } = command;
  if (named.kind === 'input') return planInputLevel(state.sources, named.ref, command);
  const target = resolveTarget(state, named);
  if (!('record' in target)) return target;
  return command.do === 'mute' ? planMute(target, command.muted) : planLevel(state, target, command);
}

/** The sink whose volume, balance or mute a command changes; undefined if it changes none. */
export function sinkOf(state: SoundState, command: SoundCommand): number | undefined {
  const isOfOutput = command.do === 'keep-limit' || command.do === 'start-volume' || command.do === 'fade';
  if (isOfOutput || (command.do === 'balance' && 'output' in command))
    return state.findSink(command.output)?.info.index;
  if (!('target' in command) || command.target.kind === 'input') return undefined;
  const target = resolveTarget(state, command.target);
  return target.kind === 'sink' ? target.record.info.index : undefined;
}

/** The source whose volume, balance or mute a command changes; undefined if it changes none. */
export function sourceOf({ sources }: SoundState, command: SoundCommand): number | undefined {
  if ('target' in command && command.target.kind === 'input')
    return sources.find(command.target.ref)?.info.index;
  return command.do === 'balance' && 'input' in command ? sources.find(command.input)?.info.index : undefined;
}

/** The same command with its present sink as a fixed target, so that a new default does not redirect it. */
export function onSink(command: SoundCommand, sink: number): SoundCommand {
  return 'target' in command ? { ...command, target: { kind: 'output', ref: String(sink) } } : command;
}

/**
 * The fault for a record that the server did not find. The state has been read again meanwhile, so planning
 * the command once more shows which record it is.
 */
export function missingFault(state: SoundState, command: SoundCommand): Fault {
  const again = planCommand(state, command);
  if (again.kind === 'fault') return again.fault;
  if (command.do === 'profile') return { fault: 'no-such-card', detail: 'The card was removed meanwhile' };
  const kind = 'target' in command ? command.target.kind : undefined;
  if ('input' in command || kind === 'input')
    return { fault: 'no-such-input', detail: 'The input was removed meanwhile' };
  return kind === 'client'
    ? { fault: 'no-such-client', detail: 'The client has ended meanwhile' }
    : { fault: 'no-such-output', detail: 'The output was removed meanwhile' };
}
