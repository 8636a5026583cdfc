// What the mirror tells the event hub: something happened, with everything needed to publish, replay and conflate it. Types only.

import type { Backend, BackendState } from '../../protocol/actor/backends.js';
import type { ActionEvent, Collection, EventType } from '../../protocol/actor/collections.js';

/** One record of a collection; `json` was encoded by its actor. For a removal it is the record's last text. */
export interface MirrorRecord {
  readonly key: string;
  readonly json: string;
}

/**
 * `records`: state changes, conflated per record for slow consumers. A collection of shape `list` makes one occurrence
 * per run of equal kind in a batch; one of shape `each` makes one occurrence per record.
 * `backend`: the state of a backend; conflated per backend.
 * `action`: never conflated, never reordered.
 */
export type Occurrence =
  | {
      readonly kind: 'records';
      readonly backend: Backend;
      readonly type: EventType;
      readonly collection: Collection;
      readonly removal: boolean;
      readonly records: readonly MirrorRecord[];
    }
  | {
      readonly kind: 'backend';
      readonly backend: Backend;
      readonly type: 'backend.updated';
      readonly state: BackendState;
      readonly detail?: string;
    }
  | { readonly kind: 'action'; readonly backend: Backend; readonly type: ActionEvent; readonly json: string };

/** The current state as occurrences, for a snapshot: per backend its state first, then its records, in collection order. */
export interface SnapshotSource {
  snapshot(): readonly Occurrence[];
}

/** One consumer's connection, as little of it as the hub needs. Implemented by the file that holds uWebSockets.js objects. */
export interface ByteSink {
  /**
   * Takes the bytes. False: the kernel would not take them all, so the caller must not write again before
   * it is told that the connection is writable (facts measured: an ignored `false` buffers without bound).
   */
  write(bytes: Uint8Array): boolean;
  /** Runs `writes` so that they leave as few packets as possible. */
  cork(writes: () => void): void;
  /** Ends the response in order, after what was written. */
  end(): void;
  /** Cuts the connection at once. */
  cut(): void;
}

/** What the connection tells the hub about one open stream. */
export interface OpenStream {
  /** After a refused write: everything written has been taken, so writing may go on. */
  writable(): void;
  /** The peer is gone; the sink must not be touched any more. */
  gone(): void;
}
