// Declares the settings of each part of the daemon. The defaults are already filled in. Types only.

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
  /**
   * The names of the upgrade backend's units. The systemd backend hides these units from clients, even if
   * `system` or `user` lists them.
   */
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

/**
 * Outputs that play together, as one output. The one output is called `tonearm.NAME`: NAME is the group's
 * name.
 */
export interface GroupChoice {
  /** 1 to 64 characters. */
  readonly label?: string | undefined;
  /** The names of at least one output. No name comes twice. */
  readonly outputs: readonly string[];
}

export interface AudioSettings {
  readonly enabled: boolean;
  /**
   * True: the backend also acts without a command. It sets start volumes, makes groups, and plays inputs at
   * outputs (`listen`). After a restart of the daemon, it still ends the music at the time that a client set
   * before. False in `tonearm bench`, because a daemon that runs at the same time does all this.
   */
  readonly actsByItself: boolean;
  /** True: clients can read the sound server's authentication cookie over HTTP. */
  readonly serveCookie: boolean;
  /** The port of the daemon's HTTP server. Clients get the cookie there. */
  readonly apiPort: number;
  /** One limit for all outputs, or limits by the names of outputs. Each limit is 0..1. */
  readonly volumeLimit?: number | Readonly<Record<string, number>> | undefined;
  /** By the names of outputs. */
  readonly outputs: Readonly<Record<string, OutputChoice>>;
  /** By the names of groups. Each name has 1 to 32 characters: a-z, 0-9, _ and -. */
  readonly groups: Readonly<Record<string, GroupChoice>>;
  /**
   * The key is the name of an input, and the value is the name of an output. The output plays the sound of
   * the input from the daemon's start on.
   */
  readonly listen: Readonly<Record<string, string>>;
  /** The delay in milliseconds between an input and the output that plays its sound. */
  readonly listenLatency: number;
}

export interface PowerSettings {
  readonly enabled: boolean;
  /** Which actions the configuration allows. logind must allow them, too. */
  readonly capabilities: { readonly poweroff: boolean; readonly reboot: boolean };
}

export interface UpgradeSettings {
  readonly enabled: boolean;
  /**
   * The path of the file from which the backend reads the current and the latest version. Always set if
   * `enabled` is true.
   */
  readonly resultFile?: string | undefined;
  readonly checkUnit?: string | undefined;
  readonly upgradeUnit?: string | undefined;
  /** The path of the socket to which an upgrade script sends its progress. */
  readonly progressSocket: string;
  /** The path of the file in which the backend remembers the run over a restart of the daemon. */
  readonly stateFile: string;
}

export interface PlayersSettings {
  readonly enabled: boolean;
  /** Names of players that clients never see; `*` stands for any characters. */
  readonly ignore: readonly string[];
  /** True: if a player begins to play, the backend pauses all other players. */
  readonly exclusive: boolean;
  /** True: the backend fetches covers from web addresses. */
  readonly fetchCovers: boolean;
}

export interface BluetoothSettings {
  readonly enabled: boolean;
  /** BlueZ's name of the adapter, such as `hci0`; by default the first adapter. */
  readonly adapter?: string | undefined;
  /** True: the backend switches on the first adapter that it uses. */
  readonly powerOnStart: boolean;
  /**
   * The devices that the backend connects again without a command: all loudspeakers and headphones (true),
   * none (false), or the devices with the listed addresses. The addresses are in capital letters.
   */
  readonly reconnect: boolean | readonly string[];
  /** Pairing mode lasts this many seconds. */
  readonly pairingTimeout: number;
  /** A scan lasts this many seconds. */
  readonly scanTimeout: number;
  /** The backend switches off the adapter after this many seconds without a connection; 0 means never. */
  readonly idleTimeout: number;
}

export interface DiscoverySettings {
  readonly enabled: boolean;
  /** The name of the node on the network: 1 to 63 bytes. */
  readonly name: string;
  /**
   * The URLs of nodes besides those that avahi-daemon finds: `http://` or `https://`, host, optional port.
   */
  readonly nodes: readonly string[];
  /** True: the pages of other nodes may read the state of this node, and control its sound. */
  readonly trust: boolean;
}

export interface MqttSettings {
  readonly enabled: boolean;
  /** `mqtt://` or `mqtts://`, host, optional port. Always set if `enabled` is true. */
  readonly url?: string | undefined;
  readonly username?: string | undefined;
  readonly passwordFile?: string | undefined;
  /** The path of a file with certificates (PEM). By default, the bridge uses the system's certificates. */
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

/**
 * The settings of each actor, by the name of its child. An actor's thread gets only the settings of this
 * actor.
 */
export type ChildSettings = Pick<Settings, ChildName>;
