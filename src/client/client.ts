// The public exports of `tonearm-client`. Only names, no code.

export { type ConnectOptions, connect, type Live } from './connect.js';
export type { EventData, EventName, NodeEvent, UpgradeCheck, UpgradeProgress } from './events.js';
export type {
  BackendInfo,
  Connection,
  NodeState,
  Slice,
  StreamedTracklist,
} from './node-state.js';
export type { AbortSignalType as Signal, Binary, Fetch } from './platform.js';
export { positionOf } from './position.js';
export { type OwnCode, type ProblemCode, ProblemError } from './problem.js';
export type * from './records.js';
export { type CallOptions, type ClientOptions, type Tonearm, tonearm } from './routes.js';
export type { Transport } from './transport.js';
