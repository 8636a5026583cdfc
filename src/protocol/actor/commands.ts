// The commands that the gateway may send to each backend: one closed union per backend. Types only.

import type { Backend } from './backends.js';
import type { Fault } from './faults.js';

/** The target of an audio command. `ref` is an id in decimal or an exact name, as the client wrote it. */
export type AudioTarget =
  | { readonly kind: 'server' }
  | { readonly kind: 'output'; readonly ref: string }
  | { readonly kind: 'client'; readonly ref: string };

export type AudioCommand =
  /** Without `muted` the state is toggled. */
  | { readonly do: 'mute'; readonly target: AudioTarget; readonly muted?: boolean }
  /** `volume` is 0..1. */
  | { readonly do: 'volume'; readonly target: AudioTarget; readonly volume: number }
  /** `delta` is -1..1. */
  | { readonly do: 'delta'; readonly target: AudioTarget; readonly delta: number }
  | { readonly do: 'default'; readonly output: string }
  | { readonly do: 'move'; readonly client: string; readonly output: string }
  | { readonly do: 'port'; readonly output: string; readonly port: string }
  | { readonly do: 'profile'; readonly card: string; readonly profile: string }
  /** `balance` is -1 (left only) to 1 (right only). */
  | { readonly do: 'balance'; readonly output: string; readonly balance: number }
  /** Answers with `bytes`. */
  | { readonly do: 'cookie' };

export type UnitScope = 'user' | 'system';

export type UnitVerb = 'start' | 'stop' | 'restart' | 'enable' | 'disable';

export type SystemdCommand = { readonly scope: UnitScope; readonly unit: string } & (
  | { readonly do: UnitVerb }
  /** Answers with `text`: the newest `lines` of the unit's log, oldest first. */
  | { readonly do: 'log'; readonly lines: number }
);

export type PowerCommand =
  /** Answers with `text`: the Power record. */
  { readonly do: 'status' } | { readonly do: 'reboot' } | { readonly do: 'poweroff' };

export type UpgradeCommand =
  | { readonly do: 'check' | 'start' }
  /** Answers with `text`: the newest `lines` of the upgrade unit's log, oldest first. */
  | { readonly do: 'log'; readonly lines: number };

/** `player` is a whole bus name. Positions and offsets are microseconds, `volume` is 0..1. */
export type PlayersCommand = { readonly player: string } & (
  | { readonly do: 'play' | 'pause' | 'play_pause' | 'stop' | 'next' | 'previous' }
  | { readonly do: 'seek'; readonly offset: number }
  /** In the playing track, unless another one is named. */
  | { readonly do: 'position'; readonly position: number; readonly track_id?: string }
  | { readonly do: 'volume'; readonly volume: number }
  | { readonly do: 'loop'; readonly loop: 'None' | 'Track' | 'Playlist' }
  | { readonly do: 'shuffle'; readonly shuffle: boolean }
  /** `track` is an id, or its last segment. */
  | { readonly do: 'goto'; readonly track: string }
  | { readonly do: 'remove'; readonly track: string }
  /** After the track `after`, else at the end. */
  | { readonly do: 'add'; readonly uri: string; readonly after?: string; readonly isCurrent: boolean }
  /** Answers with `cover`. `held`: the tag of the cover that the client has already. */
  | { readonly do: 'cover'; readonly held?: string }
);

export type BluetoothCommand =
  | { readonly do: 'power_up' | 'power_down' | 'pairing_mode' | 'pairing_mode/stop' | 'scan' | 'scan/stop' }
  /** Six bytes in hexadecimal, with colons. */
  | { readonly do: 'connect' | 'disconnect' | 'forget'; readonly address: string };
export type DeviceVerb = Extract<BluetoothCommand, { readonly address: string }>['do'];
export type AdapterVerb = Exclude<BluetoothCommand['do'], DeviceVerb>;

export interface Commands {
  readonly audio: AudioCommand;
  readonly systemd: SystemdCommand;
  readonly power: PowerCommand;
  readonly upgrade: UpgradeCommand;
  readonly players: PlayersCommand;
  readonly bluetooth: BluetoothCommand;
}

export type Command<B extends Backend = Backend> = Commands[B];

/** A cover's web address; or its bytes with a tag that identifies them; or that it is still the `held` one. */
export type CoverAnswer =
  | { readonly location: string }
  | { readonly tag: string; readonly type: string; readonly bytes: Uint8Array }
  | 'held';

/** A command's result. `text` is JSON, `bytes` a raw body; these and `cover` only where the command says so. */
export type Answer =
  | { readonly ok: true; readonly text?: string; readonly bytes?: Uint8Array; readonly cover?: CoverAnswer }
  | ({ readonly ok: false } & Fault);
