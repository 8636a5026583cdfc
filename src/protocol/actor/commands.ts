// Which commands the gateway may send to each backend, and what a backend may answer.

import type { Backend } from './backends.js';
import type { Fault } from './faults.js';
import type { AudioTarget, CommandOf } from './operations.js';
import type { UnitScope } from './parameters.js';
import { type Result, success } from './result.js';

export type { AudioTarget, UnitScope };

export type AudioCommand = CommandOf<'audio'>;
export type ListenCommand = Extract<AudioCommand, { readonly do: 'listen' | 'stop-listen' }>;
export type SystemdCommand = CommandOf<'systemd'>;
export type UnitVerb = Exclude<SystemdCommand['do'], 'log'>;
export type PowerCommand = CommandOf<'power'>;
export type UpgradeCommand = CommandOf<'upgrade'>;

/** Only the gateway's cache sends `cover`. `cachedTag` is the tag of the cover that the cache has. */
export type PlayersCommand =
  | CommandOf<'players'>
  | { readonly do: 'cover'; readonly player: string; readonly cachedTag?: string };

export type BluetoothCommand = CommandOf<'bluetooth'>;
/** The verbs for one device: `'connect' | 'disconnect' | 'forget'`. */
export type DeviceVerb = Extract<BluetoothCommand, { readonly address: string }>['do'];
export type AdapterVerb = Exclude<BluetoothCommand['do'], DeviceVerb>;

/** The commands of backend `B`. For `players` these include `cover`, which no operation makes. */
export type Command<B extends Backend = Backend> =
  | CommandOf<B>
  | (B extends 'players' ? PlayersCommand : never);

/**
 * A cover's web address, or its bytes and a tag that identifies them; `unchanged` if the cover has the
 * `cachedTag`.
 */
export type CoverAnswer =
  | { readonly location: string }
  | { readonly tag: string; readonly type: string; readonly bytes: Uint8Array }
  | 'unchanged';

/** The content that a command has read: JSON, a raw body, or a cover. Empty if the command reads nothing. */
export interface AnswerContent {
  readonly text?: string;
  readonly bytes?: Uint8Array;
  readonly cover?: CoverAnswer;
}

export type Answer = Result<AnswerContent, Fault>;

/** The answer to a command that has changed something. */
export const DONE: Answer = success({});
