// Everything of the daemon's that the client speaks of: the types of its records, bodies and names, from where they are declared.
// Types only; the build puts declarations that need nothing else in the place of this file's.

export type { Backend, BackendState, ChildName } from '../protocol/actor/backends.js';
export type { FaultCode } from '../protocol/actor/faults.js';
export type {
  AudioRecord,
  AudioServerRecord,
  BackendUpdateRecord,
  BodyOf,
  ClientRecord,
  HealthRecord,
  OutputRecord,
  PortRecord,
  PowerRecord,
  ProblemRecord,
  ServerRecord,
  ServiceRecord,
  UpgradeRecord,
  UpgradeRun,
  UpgradeStatus,
} from '../protocol/actor/schemas.js';

/** Positions are microseconds. */
export interface PlayerRecord {
  readonly bus_name: string;
  readonly identity: string;
  readonly playback_status: 'Playing' | 'Paused' | 'Stopped';
  readonly loop_status?: 'None' | 'Track' | 'Playlist';
  readonly shuffle?: boolean;
  readonly volume?: number;
  readonly position?: number;
  readonly position_updated_at: string;
  readonly rate?: number;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly capabilities: Readonly<
    Record<'can_play' | 'can_pause' | 'can_go_next' | 'can_go_previous' | 'can_seek' | 'can_control', boolean>
  >;
  readonly tracklist_supported: boolean;
  readonly pid?: number;
  readonly can_raise?: boolean;
  readonly can_quit?: boolean;
}

export interface PlayerPosition {
  readonly bus_name: string;
  readonly position: number;
  readonly emitted_at: number;
}
