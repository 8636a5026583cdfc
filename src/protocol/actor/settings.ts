// The settings that each part of the daemon gets, in which defaults are filled in. Types only.

import type { ChildName } from './backends.js';

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** The clients that may change state over HTTP: all (true), none (false), or those on the node (`local`). */
export type ControlChoice = boolean | 'local';

export interface UnitEntry {
  readonly name: string;
  readonly url?: string;
}

export interface SystemdSettings {
  readonly enabled: boolean;
  readonly system: readonly UnitEntry[];
  readonly user: readonly UnitEntry[];
  /** The units of the upgrade backend. Clients do not see them, even if `system` or `user` lists them. */
  readonly internal: readonly string[];
}

/** The wishes of the configuration for one output. */
export interface OutputChoice {
  /** 1 to 64 characters. */
  readonly label?: string | undefined;
  /** True: pages do not show the output. */
  readonly hidden?: boolean | undefined;
  /**
   * The volume, 0..1, that the output gets when it appears for the first time since the sound server has
   * started.
   */
  readonly startVolume?: number | undefined;
}

/** Outputs that play together, as one output. Its name is `tonearm.` and the name of the group. */
export interface GroupChoice {
  /** 1 to 64 characters. */
  readonly label?: string | undefined;
  /** The names of at least one output. No name comes twice. */
  readonly outputs: readonly string[];
}

export interface AudioSettings {
  readonly enabled: boolean;
  /**
   * True: the backend also acts without a command. It sets start volumes, and keeps groups and loopbacks. If
   * the daemon restarts, the backend still ends the music at the time that was set before. False in
   * `tonearm bench`, because the running daemon does all this.
   */
  readonly actsByItself: boolean;
  /** True: clients can read the sound server's authentication cookie over HTTP. */
  readonly serveCookie: boolean;
  /** The port of the daemon's HTTP server, at which clients get the cookie. */
  readonly apiPort: number;
  /** One limit for every output, or limits by the names of outputs. Each limit is 0..1. */
  readonly volumeLimit?: number | Readonly<Record<string, number>> | undefined;
  /** By the names of outputs. */
  readonly outputs: Readonly<Record<string, OutputChoice>>;
  /** By the names of groups. Each name has 1 to 32 characters: a-z, 0-9, _ and -. */
  readonly groups: Readonly<Record<string, GroupChoice>>;
  /** By the names of inputs: the name of the output at which the input plays from the start on. */
  readonly listen: Readonly<Record<string, string>>;
  /** The delay in milliseconds from an input to the output at which it is heard. */
  readonly listenLatency: number;
}

export interface PowerSettings {
  readonly enabled: boolean;
  /** Which actions the configuration allows. logind must allow them, too. */
  readonly capabilities: { readonly poweroff: boolean; readonly reboot: boolean };
}

export interface UpgradeSettings {
  readonly enabled: boolean;
  /** The path of the file from which the backend reads the versions; always set if enabled. */
  readonly resultFile?: string | undefined;
  readonly checkUnit?: string | undefined;
  readonly upgradeUnit?: string | undefined;
  /** The path of the socket at which the upgrade script sends its progress. */
  readonly progressSocket: string;
  /** The path of the daemon's own file, in which it remembers the run. */
  readonly stateFile: string;
}

export interface PlayersSettings {
  readonly enabled: boolean;
  /** Names of players that clients never see; `*` stands for any characters. */
  readonly ignore: readonly string[];
  /** True: a player that begins to play pauses the others. */
  readonly exclusive: boolean;
  /** True: covers at web addresses are fetched. */
  readonly fetchCovers: boolean;
}

export interface BluetoothSettings {
  readonly enabled: boolean;
  /** BlueZ's name of the adapter, such as `hci0`; by default the first adapter. */
  readonly adapter?: string | undefined;
  /** True: the first adapter that the backend uses is switched on. */
  readonly powerOnStart: boolean;
  /**
   * Which devices are connected again without a command: all loudspeakers and headphones (true), none
   * (false), or the devices with these addresses, which are in capital letters.
   */
  readonly reconnect: boolean | readonly string[];
  /** In seconds. */
  readonly pairingTimeout: number;
  /** In seconds. */
  readonly scanTimeout: number;
  /** The adapter is switched off after this many seconds without a connection; 0 means never. */
  readonly idleTimeout: number;
}

export interface DiscoverySettings {
  readonly enabled: boolean;
  /** The service's name on the network: 1 to 63 bytes. */
  readonly name: string;
  /** The URLs of further nodes: `http://` or `https://`, host, optional port. */
  readonly nodes: readonly string[];
  /** True: the pages of the other nodes may read the state of this one, and control its sound. */
  readonly trust: boolean;
}

export interface MqttSettings {
  readonly enabled: boolean;
  /** `mqtt://` or `mqtts://`, host, optional port; always set if enabled. */
  readonly url?: string | undefined;
  readonly username?: string | undefined;
  readonly passwordFile?: string | undefined;
  /** A file of certificates (PEM); by default those of the system. */
  readonly caFile?: string | undefined;
  /** The beginning of the node's topics. */
  readonly topic: string;
  /** False: commands over MQTT are ignored. */
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
    /** `volumeStep` is in percent. */
    readonly ui: { readonly enabled: boolean; readonly volumeStep: number };
    /** True: clients can read the logs of units. */
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
