// Plans which request to the sound server a command needs, from the state as last read. Pure: it sends nothing.

import type { AudioCommand, AudioTarget } from '../../protocol/actor/commands.js';
import type { Fault, FaultCode } from '../../protocol/actor/faults.js';
import type { RequestArgs, RequestName } from '../../protocol/pulse/commands.js';
import type { SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';
import {
  type Balance,
  channelsOf,
  fractionOf,
  loudestOf,
  partsOf,
  RAW_NORM,
  rawOf,
  rememberBalance,
} from '../../protocol/pulse/volume.js';
import type { ReadRequest } from './refetch.js';
import type { HeldRecord, SoundState } from './state.js';
import { hasVolume } from './view.js';

type ServerSetting = 'SET_CARD_PROFILE' | 'SET_DEFAULT_SINK' | 'MOVE_SINK_INPUT';
type SettingName = Extract<RequestName, `SET_SINK_${string}`> | ServerSetting;

export type Setting = {
  [C in SettingName]: { readonly command: C; readonly args: RequestArgs<C> };
}[SettingName];

/** The commands that the sound server carries out; the daemon itself answers `cookie`. */
export type SoundCommand = Exclude<AudioCommand, { readonly do: 'cookie' }>;

interface SetPlan {
  readonly kind: 'set';
  readonly setting: Setting;
  /** The record that the request changes. It is read again, so that the next command is planned from the truth. */
  readonly after: ReadRequest;
  /** A balance that is remembered once it is set: silent channels do not show it. */
  readonly remember?: { readonly sink: number; readonly balance: Balance };
}

export type SettingPlan =
  | SetPlan
  /** The server already is in the wanted state. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'fault'; readonly fault: Fault };

type CommandTarget =
  | { readonly kind: 'sink'; readonly held: HeldRecord<SinkInfo> }
  | { readonly kind: 'sink-input'; readonly held: HeldRecord<SinkInputInfo> };

function faultPlan(code: FaultCode, detail: string): SettingPlan {
  return { kind: 'fault', fault: { fault: code, detail } };
}

function notFound(what: 'output' | 'client' | 'card', ref: string): SettingPlan {
  return faultPlan(`no-such-${what}`, `There is no ${what} ${JSON.stringify(ref)}`);
}

function resolveTarget(state: SoundState, target: AudioTarget): CommandTarget | SettingPlan {
  if (target.kind === 'client') {
    const held = state.findInput(target.ref);
    return held === undefined ? notFound('client', target.ref) : { kind: 'sink-input', held };
  }
  const held = target.kind === 'output' ? state.findSink(target.ref) : state.defaultSink();
  if (held !== undefined) return { kind: 'sink', held };
  if (target.kind === 'output') return notFound('output', target.ref);
  return faultPlan('no-such-output', 'There is no default output');
}

function setPlan(setting: Setting, of: ReadRequest['of'], index?: number): SetPlan {
  return { kind: 'set', setting, after: index === undefined ? { of } : { of, index } };
}

function planMute(target: CommandTarget, wanted: boolean | undefined): SettingPlan {
  const { index, muted: before } = target.held.info;
  const args = { index, muted: wanted ?? !before };
  const command = target.kind === 'sink' ? 'SET_SINK_MUTE' : 'SET_SINK_INPUT_MUTE';
  return setPlan({ command, args }, target.kind, index);
}

/** Raw channel volumes for a volume (1 = 100 %): the loudest channel gets it, the balance stays; `channels` sets their number. */
export function channelsAt(volume: number, channels: readonly number[], remembered?: Balance): number[] {
  return channelsOf(rememberBalance(remembered, channels) ?? channels.map(() => 1), rawOf(volume));
}

/** The volume after a relative change, within 0..`most`; undefined if nothing changes: an increase never lowers what is above `most`. */
export function volumeAfter(delta: number, channels: readonly number[], most = 1): number | undefined {
  const loudest = loudestOf(channels);
  if (delta === 0 || (delta > 0 && loudest >= rawOf(most))) return undefined;
  // A volume set in hundredths is not exact when read back; without this, the errors of repeated steps would add up.
  const shown = fractionOf(loudest);
  const from = rawOf(shown) === loudest ? shown : loudest / RAW_NORM;
  return Math.min(most, Math.max(0, from + delta));
}

/** `wanted`: undefined if the volume is to stay unchanged. */
function planVolume(target: CommandTarget, wanted: number | undefined): SettingPlan {
  const { info, balance } = target.held;
  if (target.kind === 'sink-input' && !hasVolume(target.held.info))
    return faultPlan('no-volume', 'The stream has no volume of its own');
  if (wanted === undefined) return { kind: 'nothing' };
  const args = { index: info.index, volume: channelsAt(wanted, info.volume, balance) };
  const command = target.kind === 'sink' ? 'SET_SINK_VOLUME' : 'SET_SINK_INPUT_VOLUME';
  return setPlan({ command, args }, target.kind, info.index);
}

function planBalance(state: SoundState, info: SinkInfo, wanted: number): SettingPlan {
  const { index, volume, channelMap } = info;
  const balance = partsOf(wanted, channelMap);
  if (balance === undefined)
    return faultPlan('not-stereo', 'The output needs exactly two channels, left and right');
  const limit = state.volumeLimitOf(info) ?? Number.POSITIVE_INFINITY;
  const loudest = Math.min(loudestOf(volume), rawOf(limit));
  const args = { index, volume: channelsOf(balance, loudest) };
  const plan = setPlan({ command: 'SET_SINK_VOLUME', args }, 'sink', index);
  return { ...plan, remember: { sink: index, balance } };
}

function planPort({ index, ports }: SinkInfo, port: string): SettingPlan {
  if (ports.length === 0) return faultPlan('no-ports', 'The output has no ports to switch between');
  if (!ports.some(({ name }) => name === port))
    return faultPlan('no-such-port', `The output has no port ${JSON.stringify(port)}`);
  return setPlan({ command: 'SET_SINK_PORT', args: { index, port } }, 'sink', index);
}

function planProfile(state: SoundState, ref: string, wanted: string): SettingPlan {
  const card = state.findCard(ref);
  if (card === undefined) return notFound('card', ref);
  const { index, profiles } = card;
  const profile = profiles.find(({ name }) => name === wanted);
  const named = JSON.stringify(wanted);
  if (profile === undefined) return faultPlan('no-such-profile', `The card has no profile ${named}`);
  const unplugged = `Profile ${named} cannot be used now: nothing is plugged in for it`;
  if (profile.available === 0) return faultPlan('profile-unavailable', unplugged);
  return setPlan({ command: 'SET_CARD_PROFILE', args: { index, profile: wanted } }, 'card', index);
}

function planMove(state: SoundState, clientRef: string, outputRef: string): SettingPlan {
  const client = state.findInput(clientRef);
  if (client === undefined) return notFound('client', clientRef);
  const sink = state.findSink(outputRef);
  if (sink === undefined) return notFound('output', outputRef);
  const { index } = client.info;
  return setPlan({ command: 'MOVE_SINK_INPUT', args: { index, sink: sink.info.index } }, 'sink-input', index);
}

export function planCommand(state: SoundState, command: SoundCommand): SettingPlan {
  if (command.do === 'move') return planMove(state, command.client, command.output);
  if (command.do === 'profile') return planProfile(state, command.card, command.profile);
  if ('output' in command) {
    const info = state.findSink(command.output)?.info;
    if (info === undefined) return notFound('output', command.output);
    if (command.do === 'port') return planPort(info, command.port);
    if (command.do === 'balance') return planBalance(state, info, command.balance);
    return setPlan({ command: 'SET_DEFAULT_SINK', args: { name: info.name } }, 'server');
  }
  const target = resolveTarget(state, command.target);
  if (!('held' in target)) return target;
  const limit = target.kind === 'sink' ? state.volumeLimitOf(target.held.info) : undefined;
  switch (command.do) {
    case 'mute':
      return planMute(target, command.muted);
    case 'volume':
      if (limit !== undefined && command.volume > limit)
        return faultPlan('bad-value', `Field volume must be at most ${limit}, the output's volume_limit`);
      return planVolume(target, Math.min(1, Math.max(0, command.volume)));
    case 'delta': {
      const from = target.kind === 'sink' ? state.stepsFrom(target.held.info) : target.held.info.volume;
      return planVolume(target, volumeAfter(command.delta, from, limit));
    }
  }
}

/** The sink whose volume, balance or mute a command changes; undefined if it changes none. */
export function sinkOf(state: SoundState, command: SoundCommand): number | undefined {
  if (command.do === 'balance') return state.findSink(command.output)?.info.index;
  if (!('target' in command)) return undefined;
  const target = resolveTarget(state, command.target);
  return target.kind === 'sink' ? target.held.info.index : undefined;
}

/** The same command with its present sink as a fixed target, so that a new default does not redirect it. */
export function onSink(command: SoundCommand, sink: number): SoundCommand {
  return 'target' in command ? { ...command, target: { kind: 'output', ref: String(sink) } } : command;
}

/** The fault for a record that the server did not find. The state has been read again before, so planning anew finds which one. */
export function missingFault(state: SoundState, command: SoundCommand): Fault {
  const again = planCommand(state, command);
  if (again.kind === 'fault') return again.fault;
  if (command.do === 'profile') return { fault: 'no-such-card', detail: 'The card was removed meanwhile' };
  const ofClient = 'target' in command && command.target.kind === 'client';
  return ofClient
    ? { fault: 'no-such-client', detail: 'The client has ended meanwhile' }
    : { fault: 'no-such-output', detail: 'The output was removed meanwhile' };
}
