// The public exports of `tonearm-client`. Only names, no code.

export { connect } from './connect.js';
export type { EventData, EventName, NodeEvent, UpgradeCheck, UpgradeProgress } from './events.js';
export type { ConnectOptions, Live } from './live.js';
export type { AbortSignalType as Signal, Binary, Fetch } from './platform.js';
export { type OwnCode, type ProblemCode, ProblemError } from './problem.js';
export type * from './records.js';
export { type CallOptions, type ClientOptions, type Tonearm, tonearm } from './routes.js';
export {
  type BackendInfo,
  type Connection,
  type NodeState,
  positionOf,
  type Slice,
  type StreamedTracklist,
} from './store.js';
export type { Transport } from './transport.js';
