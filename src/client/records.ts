// The daemon's types that the client uses: records, bodies and names, exported from where they are declared.
// Types only; the build replaces this file with declarations that import nothing.

export type { Backend, BackendState, ChildName } from '../protocol/actor/backends.js';
export type { FaultCode } from '../protocol/actor/faults.js';
export type {
  AudioRecord,
  AudioServerRecord,
  BackendUpdateRecord,
  BluetoothRecord,
  BodyOf,
  CardRecord,
  ClientRecord,
  DeviceRecord,
  HealthRecord,
  LogEntryRecord,
  NodeRecord,
  OutputRecord,
  PlayerPosition,
  PlayerRecord,
  PortRecord,
  PowerRecord,
  ProblemRecord,
  ProfileRecord,
  ServerRecord,
  ServiceRecord,
  TracklistRecord,
  UpgradeRecord,
  UpgradeRun,
  UpgradeStatus,
} from '../protocol/actor/schemas.js';
