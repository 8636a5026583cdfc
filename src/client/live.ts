// The options of `connect` (connect.ts), and the live connection that it returns. Types only.

import type { EventName, NodeEvent } from './events.js';
import type { AbortSignalType } from './platform.js';
import type { Backend } from './records.js';
import type { Tonearm } from './routes.js';
import type { NodeState, Slice } from './store.js';

export interface ConnectOptions {
  /**
   * Only these events are sent, besides `server.info`, the marks of snapshots, and levels if they are on. If
   * `backend` is set, too, an event is sent if either list selects it.
   */
  readonly types?: readonly EventName[];
  /**
   * Only events of these backends are sent, besides `server.info`, the marks of snapshots, and levels if they
   * are on. If `types` is set, too, an event is sent if either list selects it.
   */
  readonly backend?: readonly Backend[];
  /** These events are not sent, even if `types` or `backend` names them. */
  readonly exclude?: readonly EventName[];
  /**
   * If true, the levels of outputs and inputs arrive up to ten times a second. The default is false, because
   * levels cost the node CPU time.
   */
  readonly levels?: boolean;
  /** Called once after each group of changes that arrived together. */
  readonly onChange?: (state: NodeState, changed: readonly Slice[]) => void;
  /**
   * Called for each event, even if the event changes no state (`power.action`). `Live.state` does not
   * contain the event's change yet.
   */
  readonly onEvent?: (event: NodeEvent) => void;
  /** When this signal aborts, the connection is closed. */
  readonly signal?: AbortSignalType;
}

export interface Live {
  readonly node: Tonearm;
  /** The latest consistent state. A snapshot appears in it only when the snapshot is complete. */
  readonly state: NodeState;
  /**
   * Resolves with the first whole state: a complete snapshot, and the slice `server`, which is undefined if
   * its request has failed. `power`, and the `can_*` of `upgrade`, may follow later. The promise waits while
   * the node cannot be reached. It rejects with the code `aborted` if the connection is closed before the
   * first whole state.
   */
  readonly ready: Promise<NodeState>;
  /**
   * Calls `listener` at once with the slice's value, and then at each change. Until `ready` resolves, the
   * value may be empty. Call the returned function to unsubscribe.
   */
  subscribe<S extends Slice>(slice: S, listener: (value: NodeState[S]) => void): () => void;
  /** Turns the levels of outputs and inputs on or off. */
  setLevels(isOn: boolean): void;
  /** If there is no connection, the next attempt to connect begins now. */
  reconnect(): void;
  /**
   * Milliseconds since the epoch by the node's clock. The client estimates this time from the events of
   * players. Before the first such event, it uses the header `Date` of the stream's answer, which has whole
   * seconds. Before that answer, or if the program cannot read the header, the time is that of this device.
   */
  nodeTime(): number;
  close(): void;
}
