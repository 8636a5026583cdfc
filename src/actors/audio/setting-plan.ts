// Defines the plan for a command: one request to the sound server, a refusal, or nothing. Computes the
// volumes in plans, too. Pure. commands.ts decides which plan a command gets.

import type { AudioCommand, ListenCommand } from '../../protocol/actor/commands.js';
import type { Fault, FaultCode } from '../../protocol/actor/faults.js';
import type { RequestArgs, RequestName } from '../../protocol/pulse/commands.js';
import {
  type ChannelParts,
  fractionOf,
  loudestOf,
  RAW_NORM,
  rawOf,
  rawVolumesOf,
  rememberChannelParts,
} from '../../protocol/pulse/volume.js';
import type { ReadRequest } from './refetch.js';

type DeviceSetting = Extract<RequestName, `SET_SINK_${string}` | `SET_SOURCE_${string}`>;
type OtherSetting = 'SET_CARD_PROFILE' | 'SET_DEFAULT_SINK' | 'SET_DEFAULT_SOURCE' | 'MOVE_SINK_INPUT';
type SettingName = DeviceSetting | OtherSetting;

/**
 * A request that changes something in the sound server, such as
 * `{ command: 'SET_SINK_MUTE', args: { index: 3, muted: true } }`.
 */
export type Setting = {
  [C in SettingName]: { readonly command: C; readonly args: RequestArgs<C> };
}[SettingName];

type CommandWithoutPlan = 'cookie' | 'network' | 'sleep' | 'sleep/stop' | ListenCommand['do'];

/**
 * The commands that commands.ts plans. Clients cannot send `keep-limit`, `start-volume` or `fade`: these
 * commands come from the daemon itself.
 */
export type SoundCommand =
  | Exclude<AudioCommand, { readonly do: CommandWithoutPlan }>
  | { readonly do: 'keep-limit'; readonly output: string }
  | { readonly do: 'start-volume' | 'fade'; readonly output: string; readonly volume: number };

interface SetPlan {
  readonly kind: 'set';
  readonly setting: Setting;
  /** The record that the request changes. It is read again before the next command is planned. */
  readonly changed: ReadRequest;
  /** The balance that the request sets. It is remembered, because silent channels do not show it. */
  readonly balance?: ChannelParts;
}

export interface PlanRefusal {
  readonly kind: 'fault';
  readonly fault: Fault;
  /**
   * The record that causes the refusal. It may be out of date, so executor.ts reads it again, and then plans
   * the command anew.
   */
  readonly reason?: ReadRequest;
}

/** The kind `nothing` means that the command would change nothing. */
export type SettingPlan = SetPlan | PlanRefusal | { readonly kind: 'nothing' };

export const NOTHING_TO_SET: SettingPlan = { kind: 'nothing' };

export function refuse(code: FaultCode, detail: string): PlanRefusal {
  return { kind: 'fault', fault: { fault: code, detail } };
}

export function refuseBecauseOf(reason: ReadRequest, code: FaultCode, detail: string): PlanRefusal {
  return { kind: 'fault', fault: { fault: code, detail }, reason };
}

export function notFound(what: 'output' | 'input' | 'client' | 'card', ref: string): PlanRefusal {
  return refuse(`no-such-${what}`, `There is no ${what} ${JSON.stringify(ref)}`);
}

export function setPlan(setting: Setting, kind: ReadRequest['kind'], index?: number): SetPlan {
  const changed: ReadRequest = index === undefined ? { kind } : { kind, index };
  return { kind: 'set', setting, changed };
}

/**
 * Returns the new raw volumes of the channels. The loudest channel gets `volume` (1 = 100 %). `rawVolumes`
 * are the present raw volumes, and their balance is kept. If all of them are 0, they have no balance, and
 * `rememberedBalance` is used. Without a remembered balance, all channels get the same volume.
 */
export function channelVolumes(
  volume: number,
  rawVolumes: readonly number[],
  rememberedBalance?: ChannelParts,
): number[] {
  const parts = rememberChannelParts(rememberedBalance, rawVolumes) ?? rawVolumes.map(() => 1);
  return rawVolumesOf(parts, rawOf(volume));
}

/**
 * Returns the volume after a step by `delta`: 0..`limit`, where 1 = 100 %. `rawVolumes` are the raw volumes
 * from which the step begins. Undefined for a step of 0, and for a step up if the volume is at `limit` or
 * above. Above `limit`, a step up would lower the volume to `limit`.
 */
export function volumeAfterStep(delta: number, rawVolumes: readonly number[], limit = 1): number | undefined {
  const loudest = loudestOf(rawVolumes);
  const isAtLimit = loudest >= rawOf(limit);
  if (delta === 0 || (delta > 0 && isAtLimit)) return undefined;
  // Raw volumes are integers, so a volume that was set to 0.57 is read back as 0.57001 or so. The step then
  // begins at 0.57. Otherwise the errors of repeated steps would add up.
  const rounded = fractionOf(loudest);
  const wasSetToRounded = rawOf(rounded) === loudest;
  const start = wasSetToRounded ? rounded : loudest / RAW_NORM;
  return Math.min(limit, Math.max(0, start + delta));
}
