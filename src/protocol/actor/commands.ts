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

/**
 * Only `Covers` (gateway/covers.ts) sends `cover`. `cachedTag` is the tag of the player's cover in the cache
 * of `Covers`; absent if the cache has no cover of this player.
 */
export type PlayersCommand =
  | CommandOf<'players'>
  | { readonly do: 'cover'; readonly player: string; readonly cachedTag?: string };

export type BluetoothCommand = CommandOf<'bluetooth'>;
/** The verbs for one device: `'connect' | 'disconnect' | 'forget'`. */
export type DeviceVerb = Extract<BluetoothCommand, { readonly address: string }>['do'];
export type AdapterVerb = Exclude<BluetoothCommand['do'], DeviceVerb>;

/** The commands of backend `B`: those that operations make (`CommandOf`), and for `players` also `cover`. */
export type Command<B extends Backend = Backend> =
  | CommandOf<B>
  | (B extends 'players' ? PlayersCommand : never);

/**
 * The answer to `cover`: the cover's web address, or its bytes with their media type and a tag that
 * identifies them. The answer is `unchanged` if the cover's tag is the `cachedTag` of the command.
 */
export type CoverAnswer =
  | { readonly location: string }
  | { readonly tag: string; readonly type: string; readonly bytes: Uint8Array }
  | 'unchanged';

/** The content that a command has read. One member is present, or none if the command reads nothing. */
export interface AnswerContent {
  /** JSON. */
  readonly text?: string;
  /** The sound server's authentication cookie. */
  readonly bytes?: Uint8Array;
  readonly cover?: CoverAnswer;
}

export type Answer = Result<AnswerContent, Fault>;

/** An acknowledgement without content, for a command that reads nothing. */
export const DONE: Answer = success({});
