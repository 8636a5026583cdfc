// Defines the plan for a command: a request to the sound server, nothing, or a refusal; and computes the
// volumes in it. Pure. It does not decide which of these (commands.ts).

import type { AudioCommand, ListenCommand } from '../../protocol/actor/commands.js';
import type { Fault, FaultCode } from '../../protocol/actor/faults.js';
import type { RequestArgs, RequestName } from '../../protocol/pulse/commands.js';
import {
  type Balance,
  channelsOf,
  fractionOf,
  loudestOf,
  RAW_NORM,
  rawOf,
  rememberBalance,
} from '../../protocol/pulse/volume.js';
import type { ReadRequest } from './refetch.js';

type ServerSetting = 'SET_CARD_PROFILE' | 'SET_DEFAULT_SINK' | 'SET_DEFAULT_SOURCE' | 'MOVE_SINK_INPUT';
type SettingName = Extract<RequestName, `SET_SINK_${string}` | `SET_SOURCE_${string}`> | ServerSetting;

export type Setting = {
  [C in SettingName]: { readonly command: C; readonly args: RequestArgs<C> };
}[SettingName];

/** Commands that do not become one request to the sound server. */
type DaemonsOwn = 'cookie' | 'network' | 'sleep' | 'sleep/stop' | ListenCommand['do'];

/**
 * The commands that the sound server carries out; the daemon itself answers the others. The daemon itself
 * sends the last three, and nobody else: to set back an output above its volume limit, to give a new one its
 * start volume, and to fade one.
 */
export type SoundCommand =
  | Exclude<AudioCommand, { readonly do: DaemonsOwn }>
  | { readonly do: 'keep-limit'; readonly output: string }
  | { readonly do: 'start-volume' | 'fade'; readonly output: string; readonly volume: number };

interface SetPlan {
  readonly kind: 'set';
  readonly setting: Setting;
  /**
   * The record that the request changes. It is read again, so that the next command is planned from the
   * truth.
   */
  readonly after: ReadRequest;
  /** A balance of the record, remembered once it is set: silent channels do not show it. */
  readonly remember?: Balance;
}

export type SettingPlan =
  | SetPlan
  /** The server already is in the desired state. */
  | { readonly kind: 'nothing' }
  /**
   * `basis` is the record whose last reading is the reason. That reading may be out of date, so the record is
   * read again before the command is refused.
   */
  | { readonly kind: 'fault'; readonly fault: Fault; readonly basis?: ReadRequest };

export const NOTHING: SettingPlan = { kind: 'nothing' };

export function faultPlan(code: FaultCode, detail: string): SettingPlan {
  return { kind: 'fault', fault: { fault: code, detail } };
}

/** A refusal whose reason is the last reading of a record. */
export function faultOf(basis: ReadRequest, code: FaultCode, detail: string): SettingPlan {
  return { kind: 'fault', fault: { fault: code, detail }, basis };
}

export function notFound(what: 'output' | 'input' | 'client' | 'card', ref: string): SettingPlan {
  return faultPlan(`no-such-${what}`, `There is no ${what} ${JSON.stringify(ref)}`);
}

export function setPlan(setting: Setting, of: ReadRequest['of'], index?: number): SetPlan {
  return { kind: 'set', setting, after: index === undefined ? { of } : { of, index } };
}

/**
 * Raw channel volumes for a volume (1 = 100 %): the loudest channel gets it, the balance stays; `channels`
 * sets their number.
 */
export function channelsAt(volume: number, channels: readonly number[], remembered?: Balance): number[] {
  return channelsOf(rememberBalance(remembered, channels) ?? channels.map(() => 1), rawOf(volume));
}

/**
 * The volume after a relative change, within 0..`most`; undefined if nothing changes: an increase never
 * lowers a volume above `most`.
 */
export function volumeAfter(delta: number, channels: readonly number[], most = 1): number | undefined {
  const loudest = loudestOf(channels);
  if (delta === 0 || (delta > 0 && loudest >= rawOf(most))) return undefined;
  // A volume that was set in hundredths is not exact when it is read back. Without this rounding, the errors
  // of repeated steps would add up.
  const rounded = fractionOf(loudest);
  const from = rawOf(rounded) === loudest ? rounded : loudest / RAW_NORM;
  return Math.min(most, Math.max(0, from + delta));
}
