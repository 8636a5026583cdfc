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
  ClientRecord,
  DeviceRecord,
  HealthRecord,
  OutputRecord,
  PlayerPosition,
  PlayerRecord,
  PortRecord,
  PowerRecord,
  ProblemRecord,
  ServerRecord,
  ServiceRecord,
  UpgradeRecord,
  UpgradeRun,
  UpgradeStatus,
} from '../protocol/actor/schemas.js';
