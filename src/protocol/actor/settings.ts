// The effective configuration, as each part of the service receives it: plain values with defaults filled in.
// Types only.

import type { ChildName } from './backends.js';

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** True means that everybody may change something over HTTP, `local` only programs on the node itself. */
export type ControlChoice = boolean | 'local';

export interface UnitEntry {
  readonly name: string;
  readonly url?: string;
}

export interface SystemdSettings {
  readonly enabled: boolean;
  readonly system: readonly UnitEntry[];
  readonly user: readonly UnitEntry[];
  /** Units that the upgrade backend owns: hidden from clients even when listed above. */
  readonly internal: readonly string[];
}

export interface OutputChoice {
  /** 1 to 64 characters. */
  readonly label?: string | undefined;
  /** True: pages leave it out. */
  readonly hidden?: boolean | undefined;
  /** 0..1: the volume that it gets at its first appearance in a life of the sound server. */
  readonly startVolume?: number | undefined;
}

/** Outputs that play together, as one output `tonearm.NAME`. */
export interface GroupChoice {
  /** 1 to 64 characters. */
  readonly label?: string | undefined;
  /** Names of outputs, at least one, each once. */
  readonly outputs: readonly string[];
}

export interface AudioSettings {
  readonly enabled: boolean;
  readonly serveCookie: boolean;
  /** The port at which the service gives the cookie. */
  readonly apiPort: number;
  /** 0..1: for every output, or by an output's name. */
  readonly volumeLimit?: number | Readonly<Record<string, number>> | undefined;
  readonly outputs: Readonly<Record<string, OutputChoice>>;
  /** By name: 1 to 32 of a-z, 0-9, _ and -. */
  readonly groups: Readonly<Record<string, GroupChoice>>;
  /** Names of inputs, each with the name of the output at which it is heard from the start. */
  readonly listen: Readonly<Record<string, string>>;
  /** Milliseconds between an input and the output at which it is heard. */
  readonly listenLatency: number;
}

export interface PowerSettings {
  readonly enabled: boolean;
  readonly capabilities: { readonly poweroff: boolean; readonly reboot: boolean };
}

export interface UpgradeSettings {
  readonly enabled: boolean;
  readonly resultFile?: string | undefined;
  readonly checkUnit?: string | undefined;
  readonly upgradeUnit?: string | undefined;
  readonly progressSocket: string;
  readonly stateFile: string;
}

export interface PlayersSettings {
  readonly enabled: boolean;
  /** Names of players that do not exist for anybody; `*` stands for any characters. */
  readonly ignore: readonly string[];
  /** A player that begins to play pauses the others. */
  readonly exclusive: boolean;
  /** The node fetches covers at web addresses. */
  readonly fetchCovers: boolean;
}

export interface BluetoothSettings {
  readonly enabled: boolean;
  /** BlueZ's name of it (`hci0`); the first by default. */
  readonly adapter?: string | undefined;
  readonly powerOnStart: boolean;
  /** Known loudspeakers and headphones come back: all, none, or those with these addresses, in capitals. */
  readonly reconnect: boolean | readonly string[];
  /** Seconds, as the other two. */
  readonly pairingTimeout: number;
  readonly scanTimeout: number;
  /** 0: never. */
  readonly idleTimeout: number;
}

export interface DiscoverySettings {
  readonly enabled: boolean;
  /** The service's name on the network: 1 to 63 bytes. */
  readonly name: string;
  /** Further nodes of the house: `http://` or `https://`, host, optional port. */
  readonly nodes: readonly string[];
  /** The other nodes' pages may listen and control sound here. */
  readonly trust: boolean;
}

export interface MqttSettings {
  readonly enabled: boolean;
  /** `mqtt://` or `mqtts://`, host, optional port; always set if enabled. */
  readonly url?: string | undefined;
  readonly username?: string | undefined;
  readonly passwordFile?: string | undefined;
  /** PEM; the system's certificates by default. */
  readonly caFile?: string | undefined;
  /** The node's branch. */
  readonly topic: string;
  /** False: no commands are taken. */
  readonly control: boolean;
  readonly homeAssistant: boolean;
  readonly homeAssistantPrefix: string;
}

export interface Settings {
  readonly bind: readonly string[];
  readonly logLevel: LogLevel;
  readonly api: {
    readonly port: number;
    readonly cors: { readonly origins: readonly string[] };
    readonly hosts: readonly string[];
    readonly sse: { readonly enabled: boolean; readonly maxClients: number };
    /** `volumeStep`: percent. */
    readonly ui: { readonly enabled: boolean; readonly volumeStep: number };
    /** The logs of units can be read. */
    readonly logs: boolean;
    readonly control: ControlChoice;
    readonly metrics: boolean;
  };
  readonly systemd: SystemdSettings;
  readonly audio: AudioSettings;
  readonly power: PowerSettings;
  readonly upgrade: UpgradeSettings;
  readonly players: PlayersSettings;
  readonly bluetooth: BluetoothSettings;
  readonly discovery: DiscoverySettings;
  readonly mqtt: MqttSettings;
}

/** Each actor's part of the settings, sent to its thread. */
export type ChildSettings = Pick<Settings, ChildName>;
