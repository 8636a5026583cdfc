// The public exports of `tonearm-client`. Only names, no code.

export { type ConnectOptions, connect, type Live } from './connect.js';
export type { EventData, EventName, NodeEvent, UpgradeCheck, UpgradeProgress } from './events.js';
export { type OwnCode, type ProblemCode, ProblemError, type Transport } from './problem.js';
export type * from './records.js';
export { type ClientOptions, type Tonearm, tonearm } from './routes.js';
export {
  type BackendInfo,
  type Connection,
  type NodeState,
  positionOf,
  type Slice,
  type StreamedTracklist,
} from './store.js';
