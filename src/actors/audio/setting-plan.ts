// Defines the plan for a command, which is one request to the sound server, nothing, or a refusal; and
// computes the volumes in it. Pure. Which plan a command has is decided in commands.ts.

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
type OtherCommand = 'cookie' | 'network' | 'sleep' | 'sleep/stop' | ListenCommand['do'];

/**
 * The commands that become one request to the sound server. The last three come from the daemon alone: it
 * sets an output back to its volume limit, gives a new output its start volume, and fades an output.
 */
export type SoundCommand =
  | Exclude<AudioCommand, { readonly do: OtherCommand }>
  | { readonly do: 'keep-limit'; readonly output: string }
  | { readonly do: 'start-volume' | 'fade'; readonly output: string; readonly volume: number };

interface SetPlan {
  readonly kind: 'set';
  readonly setting: Setting;
  /**
   * The record that the request changes. It is read again, so that the next command is planned from its new
   * state.
   */
  readonly changed: ReadRequest;
  /** The balance that the request sets. It is remembered then, because silent channels do not show it. */
  readonly balance?: Balance;
}

export interface Refusal {
  readonly kind: 'fault';
  readonly fault: Fault;
  /**
   * The record because of which the command is refused. Its last reading may be out of date, so the record
   * is read again before the refusal.
   */
  readonly reason?: ReadRequest;
}

/** `nothing`: the server is in the desired state already. */
export type SettingPlan = SetPlan | Refusal | { readonly kind: 'nothing' };

export const NOTHING: SettingPlan = { kind: 'nothing' };

export function faultPlan(code: FaultCode, detail: string): Refusal {
  return { kind: 'fault', fault: { fault: code, detail } };
}

/** A refusal because of a record as it was last read. */
export function faultOf(reason: ReadRequest, code: FaultCode, detail: string): Refusal {
  return { kind: 'fault', fault: { fault: code, detail }, reason };
}

export function notFound(what: 'output' | 'input' | 'client' | 'card', ref: string): Refusal {
  return faultPlan(`no-such-${what}`, `There is no ${what} ${JSON.stringify(ref)}`);
}

export function setPlan(setting: Setting, of: ReadRequest['of'], index?: number): SetPlan {
  return { kind: 'set', setting, changed: index === undefined ? { of } : { of, index } };
}

/**
 * Raw channel volumes: the loudest channel gets `volume` (1 = 100 %), and the balance stays. `channels` are
 * the present raw volumes.
 */
export function channelsAt(volume: number, channels: readonly number[], remembered?: Balance): number[] {
  const balance = rememberBalance(remembered, channels) ?? channels.map(() => 1);
  return channelsOf(balance, rawOf(volume));
}

/**
 * The volume after a step of `delta`, within 0..`most`. Undefined if nothing is to change: a step up does not
 * lower a volume that is above `most`.
 */
export function volumeAfter(delta: number, channels: readonly number[], most = 1): number | undefined {
  const loudest = loudestOf(channels);
  if (delta === 0 || (delta > 0 && loudest >= rawOf(most))) return undefined;
  // A volume that was set in hundredths is a little off when it is read back. Without this rounding, the
  // errors of repeated steps would add up.
  const rounded = fractionOf(loudest);
  const from = rawOf(rounded) === loudest ? rounded : loudest / RAW_NORM;
  return Math.min(most, Math.max(0, from + delta));
}
