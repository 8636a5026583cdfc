// The events of the stream and their data (docs/events.md, "Events"). Only types.

import type {
  BackendUpdateRecord,
  BluetoothRecord,
  CardRecord,
  ClientRecord,
  DeviceRecord,
  NodeRecord,
  OutputRecord,
  PlayerPosition,
  PlayerRecord,
  ServiceRecord,
  TracklistRecord,
  UpgradeRecord,
  UpgradeRun,
  UpgradeStatus,
} from './records.js';

/** The stream's events and their data. */
export interface EventData {
  'server.info': 'connected' | 'love' | 'bye';
  'service.updated': ServiceRecord;
  'audio.updated': readonly ClientRecord[];
  'audio.removed': readonly ClientRecord[];
  'audio.output.updated': readonly OutputRecord[];
  'audio.output.removed': readonly OutputRecord[];
  'audio.card.updated': readonly CardRecord[];
  'audio.card.removed': readonly CardRecord[];
  'audio.level': { readonly outputs: readonly { readonly id: number; readonly peak: readonly number[] }[] };
  'power.action': { readonly action: 'reboot' | 'poweroff' };
  'upgrade.info': UpgradeStatus | UpgradeRun | { readonly check: UpgradeCheck };
  'upgrade.progress': UpgradeProgress;
  'player.added': { readonly data: PlayerRecord; readonly emitted_at: number };
  'player.updated': { readonly data: PlayerRecord; readonly emitted_at: number };
  'player.removed': { readonly bus_name: string };
  'player.position': readonly PlayerPosition[];
  'player.tracklist.updated': TracklistRecord & { readonly bus_name: string };
  'node.updated': NodeRecord;
  'node.removed': { readonly name: string };
  'bluetooth.updated': BluetoothRecord;
  'bluetooth.discovered': DeviceRecord;
  'backend.updated': BackendUpdateRecord;
}

/** The last known run of the check unit. */
export type UpgradeCheck = NonNullable<UpgradeRecord['check']>;

/** A line of the upgrade script; it may have more members. */
export type UpgradeProgress =
  | { readonly event: 'begin'; readonly total: number }
  | { readonly event: 'progress'; readonly percent: number; readonly current: number; readonly step: string }
  | { readonly event: 'end'; readonly success: boolean };

export type EventName = keyof EventData;

/** One event; `type` determines the type of `data`. */
export type NodeEvent = { [T in EventName]: { readonly type: T; readonly data: EventData[T] } }[EventName];
