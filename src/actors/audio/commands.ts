// Plans which request to the sound server a command needs, from the state as last read. Pure: it sends
// nothing.

import type { AudioTarget } from '../../protocol/actor/commands.js';
import type { Fault } from '../../protocol/actor/faults.js';
import type { SinkInputInfo } from '../../protocol/pulse/records.js';
import { channelsOf, loudestOf, partsOf, rawOf } from '../../protocol/pulse/volume.js';
import { type Device, NOUNS, planDefault, planPort } from './device-settings.js';
import type { KnownRecord } from './known-records.js';
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
import type { SoundState } from './state.js';

/** Outputs, inputs and streams have a volume and a mute. */
type CommandTarget = Device | { readonly kind: 'sink-input'; readonly record: KnownRecord<SinkInputInfo> };

type DeviceCommand = Exclude<
  Extract<SoundCommand, { readonly output: string } | { readonly input: string }>,
  { readonly do: 'move' }
>;

const LEVELS = {
  sink: { mute: 'SET_SINK_MUTE', volume: 'SET_SINK_VOLUME' },
  source: { mute: 'SET_SOURCE_MUTE', volume: 'SET_SOURCE_VOLUME' },
  'sink-input': { mute: 'SET_SINK_INPUT_MUTE', volume: 'SET_SINK_INPUT_VOLUME' },
} as const;

function findOutput(state: SoundState, ref: string): Device | SettingPlan {
  const record = state.findSink(ref);
  return record === undefined ? notFound('output', ref) : { kind: 'sink', record };
}

function findInput(state: SoundState, ref: string): Device | SettingPlan {
  const record = state.sources.find(ref);
  return record === undefined ? notFound('input', ref) : { kind: 'source', record };
}

function findDevice(state: SoundState, command: DeviceCommand): Device | SettingPlan {
  return 'input' in command ? findInput(state, command.input) : findOutput(state, command.output);
}

function resolveTarget(state: SoundState, target: AudioTarget): CommandTarget | SettingPlan {
  switch (target.kind) {
    case 'output':
      return findOutput(state, target.ref);
    case 'input':
      return findInput(state, target.ref);
    case 'client': {
      const record = state.findInput(target.ref);
      return record === undefined ? notFound('client', target.ref) : { kind: 'sink-input', record };
    }
    case 'server': {
      const record = state.defaultSink();
      if (record === undefined) return faultPlan('no-such-output', 'There is no default output');
      return { kind: 'sink', record };
    }
  }
}

function planMute({ kind, record }: CommandTarget, desired: boolean | undefined): SettingPlan {
  const { index, muted: before } = record.info;
  return setPlan({ command: LEVELS[kind].mute, args: { index, muted: desired ?? !before } }, kind, index);
}

/** The volume limit, 1 = 100 %; undefined where there is none. */
function limitOf({ limits }: SoundState, { kind, record }: CommandTarget): number | undefined {
  if (kind === 'source') return undefined;
  return kind === 'sink' ? limits.of(record.info) : limits.ofFlat(record.info);
}

/** The refusal for a target that takes no volume; undefined if it takes one. */
function planWithoutVolume(state: SoundState, { kind, record }: CommandTarget): SettingPlan | undefined {
  if (kind === 'source') return undefined;
  if (kind === 'sink') {
    const input = passthroughOn(state.inputs, record.info.index);
    if (input === undefined) return undefined;
    const detail = `The output has no volume while ${JSON.stringify(input.name)} is played ${howPlayed(input.info)}`;
    return faultOf({ of: 'sink-input', index: input.info.index }, 'no-volume', detail);
  }
  const { info } = record;
  const why = hasVolume(info) ? 'it follows its output' : `it is played ${howPlayed(info)}`;
  if (hasVolume(info) && info.volumeWritable) return undefined;
  const basis: ReadRequest = { of: 'sink-input', index: info.index };
  return faultOf(basis, 'no-volume', `The stream has no volume of its own: ${why}`);
}

/** `desired` is undefined if the volume is to stay unchanged. */
function planVolume({ kind, record }: CommandTarget, desired: number | undefined): SettingPlan {
  if (desired === undefined) return NOTHING;
  const { info, balance } = record;
  const args = { index: info.index, volume: channelsAt(desired, info.volume, balance) };
  return setPlan({ command: LEVELS[kind].volume, args }, kind, info.index);
}

/** A volume, or a step. */
function planLevel(
  state: SoundState,
  target: CommandTarget,
  command: Extract<SoundCommand, { readonly do: 'volume' | 'delta' }>,
): SettingPlan {
  const refusal = planWithoutVolume(state, target);
  if (refusal !== undefined) return refusal;
  const isSink = target.kind === 'sink';
  const limit = limitOf(state, target);
  if (command.do === 'delta') {
    const from = isSink ? state.stepsFrom(target.record.info) : target.record.info.volume;
    return planVolume(target, volumeAfter(command.delta, from, limit));
  }
  if (isSink && limit !== undefined && command.volume > limit)
    return faultPlan('bad-value', `Field volume must be at most ${limit}, the output's volume_limit`);
  return planVolume(target, Math.min(limit ?? 1, 1, Math.max(0, command.volume)));
}

/** A volume above the output's limit, or above `unlimited` where it has none, becomes that. */
function planOwnVolume(state: SoundState, output: Device, volume: number, unlimited: number): SettingPlan {
  const most = limitOf(state, output) ?? unlimited;
  return planWithoutVolume(state, output) ?? planVolume(output, Math.min(volume, most));
}

function planKeepLimit(state: SoundState, output: Device): SettingPlan {
  const isAbove = output.kind === 'sink' && state.limits.isExceeded(output.record.info);
  return isAbove ? planVolume(output, limitOf(state, output)) : NOTHING;
}

function planBalance(state: SoundState, device: Device, desired: number): SettingPlan {
  const { kind, record } = device;
  const { index, volume, channelMap } = record.info;
  const balance = partsOf(desired, channelMap);
  if (balance === undefined)
    return faultPlan('not-stereo', `The ${NOUNS[kind]} needs exactly two channels, left and right`);
  const refusal = planWithoutVolume(state, device);
  if (refusal !== undefined) return refusal;
  const limit = limitOf(state, device) ?? Number.POSITIVE_INFINITY;
  const loudest = Math.min(loudestOf(volume), rawOf(limit));
  const args = { index, volume: channelsOf(balance, loudest) };
  const plan = setPlan({ command: LEVELS[kind].volume, args }, kind, index);
  return { ...plan, remember: balance };
}

function planProfile(state: SoundState, ref: string, desired: string): SettingPlan {
  const card = state.cards.find(ref);
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

function planForDevice(state: SoundState, device: Device, command: DeviceCommand): SettingPlan {
  switch (command.do) {
    case 'port':
      return planPort(device, command.port);
    case 'balance':
      return planBalance(state, device, command.balance);
    case 'default':
      return planDefault(state, device);
    case 'keep-limit':
      return planKeepLimit(state, device);
    case 'start-volume':
      return planOwnVolume(state, device, command.volume, 1);
    case 'fade':
      // The volume from before a fade may be above 100 %.
      return planOwnVolume(state, device, command.volume, Number.POSITIVE_INFINITY);
  }
}

export function planCommand(state: SoundState, command: SoundCommand): SettingPlan {
  if (command.do === 'move') return planMove(state, command.client, command.output);
  if (command.do === 'profile') return planProfile(state, command.card, command.profile);
  if ('target' in command) {
    const target = resolveTarget(state, command.target);
    if (!('record' in target)) return target;
    return command.do === 'mute' ? planMute(target, command.muted) : planLevel(state, target, command);
  }
  const device = findDevice(state, command);
  return 'record' in device ? planForDevice(state, device, command) : device;
}

/** The sink or source whose volume, balance or mute a command changes; undefined if it changes none. */
export function deviceOf(
  state: SoundState,
  command: SoundCommand,
): { readonly of: Device['kind']; readonly index: number } | undefined {
  if (command.do === 'move' || command.do === 'profile') return undefined;
  if (command.do === 'port' || command.do === 'default') return undefined;
  const target = 'target' in command ? resolveTarget(state, command.target) : findDevice(state, command);
  if (target.kind !== 'sink' && target.kind !== 'source') return undefined;
  return { of: target.kind, index: target.record.info.index };
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
