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
