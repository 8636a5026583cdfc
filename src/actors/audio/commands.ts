// Decides which request a command needs, from what was last read of the sound server. Pure: executor.ts sends
// the request.

import type { AudioTarget } from '../../protocol/actor/commands.js';
import type { Fault } from '../../protocol/actor/faults.js';
import type { SinkInputInfo } from '../../protocol/pulse/records.js';
import { channelPartsOf, loudestOf, rawOf, rawVolumesOf } from '../../protocol/pulse/volume.js';
import { NOUNS, planDefault, planPort, type SoundDevice } from './device-settings.js';
import type { KnownRecord } from './known-records.js';
import { hasVolume, howPlayed, passthroughOn } from './passthrough.js';
import type { ReadRequest } from './refetch.js';
import {
  channelVolumes,
  NOTHING_TO_SET,
  notFound,
  type PlanRefusal,
  refuse,
  refuseBecauseOf,
  type SettingPlan,
  type SoundCommand,
  setPlan,
  volumeAfterStep,
} from './setting-plan.js';
import type { SoundState } from './state.js';

/** Devices and streams can be targets, because all of them have a volume and a mute. */
type CommandTarget =
  | SoundDevice
  | { readonly kind: 'sink-input'; readonly record: KnownRecord<SinkInputInfo> };

/** A command to an output or input. `move` names an output, too, but it is a command to a stream. */
type DeviceCommand = Exclude<
  Extract<SoundCommand, { readonly output: string } | { readonly input: string }>,
  { readonly do: 'move' }
>;

const REQUESTS = {
  sink: { mute: 'SET_SINK_MUTE', volume: 'SET_SINK_VOLUME' },
  source: { mute: 'SET_SOURCE_MUTE', volume: 'SET_SOURCE_VOLUME' },
  'sink-input': { mute: 'SET_SINK_INPUT_MUTE', volume: 'SET_SINK_INPUT_VOLUME' },
} as const;

/** The field `available` of a card's profile has this value if the profile certainly cannot be used now. */
const UNUSABLE = 0;

function findOutput(state: SoundState, ref: string): SoundDevice | PlanRefusal {
  const record = state.findSink(ref);
  return record === undefined ? notFound('output', ref) : { kind: 'sink', record };
}

function findInput(state: SoundState, ref: string): SoundDevice | PlanRefusal {
  const record = state.sources.find(ref);
  return record === undefined ? notFound('input', ref) : { kind: 'source', record };
}

function findDevice(state: SoundState, command: DeviceCommand): SoundDevice | PlanRefusal {
  return 'input' in command ? findInput(state, command.input) : findOutput(state, command.output);
}

function resolveTarget(state: SoundState, target: AudioTarget): CommandTarget | PlanRefusal {
  switch (target.kind) {
    case 'output':
      return findOutput(state, target.ref);
    case 'input':
      return findInput(state, target.ref);
    case 'client': {
      const record = state.findClient(target.ref);
      return record === undefined ? notFound('client', target.ref) : { kind: 'sink-input', record };
    }
    case 'server': {
      // The server's volume and mute are those of the default output.
      const record = state.defaultSink();
      if (record === undefined) return refuse('no-such-output', 'There is no default output');
      return { kind: 'sink', record };
    }
  }
}

/** Without `desired`, the mute is toggled. */
function planMute({ kind, record }: CommandTarget, desired: boolean | undefined): SettingPlan {
  const { index } = record.info;
  const muted = desired ?? !record.info.muted;
  return setPlan({ command: REQUESTS[kind].mute, args: { index, muted } }, kind, index);
}

/** The target's volume limit, 0..1 (1 = 100 %). Undefined for a target without a limit, such as an input. */
function volumeLimit({ limits }: SoundState, { kind, record }: CommandTarget): number | undefined {
  if (kind === 'source') return undefined;
  return kind === 'sink' ? limits.ofSink(record.info) : limits.ofStream(record.info);
}

/**
 * Undefined if the volume of the target can be set. A refusal names a stream as its reason. Then executor.ts
 * reads the stream again, and plans anew.
 */
function volumeRefusal(state: SoundState, { kind, record }: CommandTarget): PlanRefusal | undefined {
  if (kind === 'source') return undefined;
  if (kind === 'sink') {
    const stream = passthroughOn(state.sinkInputs, record.info.index);
    if (stream === undefined) return undefined;
    const detail = `The output has no volume while ${JSON.stringify(stream.name)} is played ${howPlayed(stream.info)}`;
    return refuseBecauseOf({ kind: 'sink-input', index: stream.info.index }, 'no-volume', detail);
  }
  const { info } = record;
  if (hasVolume(info) && info.volumeWritable) return undefined;
  const why = hasVolume(info) ? 'it follows its output' : `it is played ${howPlayed(info)}`;
  const streamToReadAgain: ReadRequest = { kind: 'sink-input', index: info.index };
  return refuseBecauseOf(streamToReadAgain, 'no-volume', `The stream has no volume of its own: ${why}`);
}

/** `desired`: 1 = 100 %; undefined if the volume is to stay as it is. */
function planVolume({ kind, record }: CommandTarget, desired: number | undefined): SettingPlan {
  if (desired === undefined) return NOTHING_TO_SET;
  const { info, balance } = record;
  const args = { index: info.index, volume: channelVolumes(desired, info.volume, balance) };
  return setPlan({ command: REQUESTS[kind].volume, args }, kind, info.index);
}

/** Returns the raw volumes from which a step begins. */
function stepStart({ requestedVolumes, sources }: SoundState, target: CommandTarget): readonly number[] {
  const { kind, record } = target;
  // Only devices have mixers, which round requested volumes. So a step of a stream begins at the stream's
  // known volume.
  if (kind === 'sink-input') return record.info.volume;
  const volumesOfKind = kind === 'sink' ? requestedVolumes : sources.requestedVolumes;
  return volumesOfKind.stepStart(record.info);
}

/** Plans the command `volume`, or a step up or down (`delta`). */
function planVolumeOrStep(
  state: SoundState,
  target: CommandTarget,
  command: Extract<SoundCommand, { readonly do: 'volume' | 'delta' }>,
): SettingPlan {
  const refusal = volumeRefusal(state, target);
  if (refusal !== undefined) return refusal;
  const isSink = target.kind === 'sink';
  const limit = volumeLimit(state, target);
  if (command.do === 'delta') {
    return planVolume(target, volumeAfterStep(command.delta, stepStart(state, target), limit));
  }
  // A volume above the limit of an output is refused. A stream gets the limit instead (docs/http-api.md,
  // "Volume and balance").
  if (isSink && limit !== undefined && command.volume > limit)
    return refuse('bad-value', `Field volume must be at most ${limit}, the output's volume_limit`);
  // This command sets at most 100 %, even if there is no limit.
  const highest = Math.min(limit ?? 1, 1);
  return planVolume(target, Math.min(highest, Math.max(0, command.volume)));
}

/** Plans `volume`, or the output's limit if that is lower. `defaultLimit` is for outputs without a limit. */
function planLimitedVolume(
  state: SoundState,
  output: SoundDevice,
  volume: number,
  defaultLimit: number,
): SettingPlan {
  const limit = volumeLimit(state, output) ?? defaultLimit;
  return volumeRefusal(state, output) ?? planVolume(output, Math.min(volume, limit));
}

function planKeepLimit(state: SoundState, device: SoundDevice): SettingPlan {
  const isAboveLimit = device.kind === 'sink' && state.limits.isExceeded(device.record.info);
  return isAboveLimit ? planVolume(device, volumeLimit(state, device)) : NOTHING_TO_SET;
}

function planBalance(state: SoundState, device: SoundDevice, desired: number): SettingPlan {
  const { kind, record } = device;
  const { index, volume, channelMap } = record.info;
  const channelParts = channelPartsOf(desired, channelMap);
  if (channelParts === undefined)
    return refuse('not-stereo', `The ${NOUNS[kind]} needs exactly two channels, left and right`);
  const refusal = volumeRefusal(state, device);
  if (refusal !== undefined) return refusal;
  const limit = volumeLimit(state, device) ?? Number.POSITIVE_INFINITY;
  const loudest = Math.min(loudestOf(volume), rawOf(limit));
  const args = { index, volume: rawVolumesOf(channelParts, loudest) };
  const plan = setPlan({ command: REQUESTS[kind].volume, args }, kind, index);
  return { ...plan, balance: channelParts };
}

function planProfile(state: SoundState, ref: string, desired: string): SettingPlan {
  const card = state.cards.find(ref);
  if (card === undefined) return notFound('card', ref);
  const { index, profiles } = card;
  const cardToReadAgain: ReadRequest = { kind: 'card', index };
  const profile = profiles.find(({ name }) => name === desired);
  const quoted = JSON.stringify(desired);
  if (profile === undefined)
    return refuseBecauseOf(cardToReadAgain, 'no-such-profile', `The card has no profile ${quoted}`);
  const unpluggedDetail = `Profile ${quoted} cannot be used now: nothing is plugged in for it`;
  const isUnusable = profile.available === UNUSABLE;
  if (isUnusable) return refuseBecauseOf(cardToReadAgain, 'profile-unavailable', unpluggedDetail);
  return setPlan({ command: 'SET_CARD_PROFILE', args: { index, profile: desired } }, 'card', index);
}

function planMove(state: SoundState, clientRef: string, outputRef: string): SettingPlan {
  const client = state.findClient(clientRef);
  if (client === undefined) return notFound('client', clientRef);
  const sink = state.findSink(outputRef);
  if (sink === undefined) return notFound('output', outputRef);
  const { index } = client.info;
  // A passthrough stream has no volume, and sets its new output to 100 %. So it is not moved to an output
  // whose limit is lower.
  const isLimited = (state.limits.ofSink(sink.info) ?? 1) < 1;
  const playsElsewhere = client.info.sink !== sink.info.index;
  const wouldExceedLimit = isLimited && playsElsewhere && !hasVolume(client.info);
  if (wouldExceedLimit) {
    const detail = `The stream is played ${howPlayed(client.info)}, which sets the output to 100 %, above its volume_limit`;
    return refuseBecauseOf({ kind: 'sink-input', index }, 'no-volume', detail);
  }
  return setPlan({ command: 'MOVE_SINK_INPUT', args: { index, sink: sink.info.index } }, 'sink-input', index);
}

function planForDevice(state: SoundState, device: SoundDevice, command: DeviceCommand): SettingPlan {
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
      return planLimitedVolume(state, device, command.volume, 1);
    case 'fade':
      // The last step of a fade puts back the volume before the fade. That volume may be above 100 %.
      return planLimitedVolume(state, device, command.volume, Number.POSITIVE_INFINITY);
  }
}

export function planCommand(state: SoundState, command: SoundCommand): SettingPlan {
  if (command.do === 'move') return planMove(state, command.client, command.output);
  if (command.do === 'profile') return planProfile(state, command.card, command.profile);
  if ('target' in command) {
    const target = resolveTarget(state, command.target);
    if (target.kind === 'fault') return target;
    return command.do === 'mute' ? planMute(target, command.muted) : planVolumeOrStep(state, target, command);
  }
  const device = findDevice(state, command);
  return device.kind === 'fault' ? device : planForDevice(state, device, command);
}

/**
 * The sink or source whose volume, balance or mute a command changes. Undefined for other commands, for
 * streams, and for a device that does not exist.
 */
export function deviceChangedBy(
  state: SoundState,
  command: SoundCommand,
): { readonly kind: SoundDevice['kind']; readonly index: number } | undefined {
  if (command.do === 'move' || command.do === 'profile') return undefined;
  if (command.do === 'port' || command.do === 'default') return undefined;
  const target = 'target' in command ? resolveTarget(state, command.target) : findDevice(state, command);
  if (target.kind === 'fault' || target.kind === 'sink-input') return undefined;
  return { kind: target.kind, index: target.record.info.index };
}

/**
 * Makes the sink with the index `sink` the target of the command. The target `server` means the default
 * output, and another output may become the default before the command runs. A command without a target
 * names its output itself, so it is returned unchanged.
 */
export function withFixedSink(command: SoundCommand, sink: number): SoundCommand {
  return 'target' in command ? { ...command, target: { kind: 'output', ref: String(sink) } } : command;
}

/**
 * Returns the fault for a command whose record the server did not find. To be called when this record has
 * been read again. The command is planned anew. If the state lacks the record now, this plan is a refusal
 * that names the record.
 */
export function missingFault(state: SoundState, command: SoundCommand): Fault {
  const newPlan = planCommand(state, command);
  if (newPlan.kind === 'fault') return newPlan.fault;
  // The state still has a record for the command, for example a new one with the same name.
  if (command.do === 'profile') return { fault: 'no-such-card', detail: 'The card was removed meanwhile' };
  const targetKind = 'target' in command ? command.target.kind : undefined;
  if ('input' in command || targetKind === 'input')
    return { fault: 'no-such-input', detail: 'The input was removed meanwhile' };
  return targetKind === 'client'
    ? { fault: 'no-such-client', detail: 'The client has ended meanwhile' }
    : { fault: 'no-such-output', detail: 'The output was removed meanwhile' };
}
