// The events of the stream and their data (docs/events.md, "Events"). Only types.

import type { Events, UpgradeRecord } from './records.js';

/**
 * The data of each event. The schema of `upgrade.progress` has only the member `event`, so `UpgradeProgress`
 * replaces this schema.
 */
export interface EventData extends Omit<Events, 'upgrade.progress'> {
  readonly 'upgrade.progress': UpgradeProgress;
}

/** The last known run of the systemd unit that checks for upgrades. */
export type UpgradeCheck = NonNullable<UpgradeRecord['check']>;

/** A progress line that the upgrade script has written. It may have more members than these. */
export type UpgradeProgress =
  | { readonly event: 'begin'; readonly total: number }
  | { readonly event: 'progress'; readonly percent: number; readonly current: number; readonly step: string }
  | { readonly event: 'end'; readonly success: boolean };

export type EventName = keyof EventData;

/** One event; `type` determines the type of `data`. */
export type NodeEvent = { [T in EventName]: { readonly type: T; readonly data: EventData[T] } }[EventName];
