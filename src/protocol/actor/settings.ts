// The effective configuration, as each part of the service receives it: plain values with defaults filled in, whose types follow from the
// table of keys. docs/configuration.md explains them. Types only.

import type { Settings } from '../../supervisor/config/keys.js';
import type { ChildName } from './backends.js';

export type { UnitEntry } from '../../supervisor/config/readers.js';
export type { Settings };

export type LogLevel = Settings['logLevel'];
export type SystemdSettings = Settings['systemd'];
export type AudioSettings = Settings['audio'];
export type PowerSettings = Settings['power'];
export type UpgradeSettings = Settings['upgrade'];
export type BluetoothSettings = Settings['bluetooth'];
export type DiscoverySettings = Settings['discovery'];
export type MqttSettings = Settings['mqtt'];

/** Each actor's part of the settings, sent to its thread. */
export type ChildSettings = Pick<Settings, ChildName>;
