// What is still owed to a consumer, as its stream sees it: an outbox or a replay. Types and one bound.

import type { Batch } from './batch.js';
import type { Filter } from './filter.js';

/** What the kernel does not take of a write stays in user memory, so no single write is much larger than this. */
export const PORTION_BYTES_MAX = 64 * 1024;

export interface Backlog {
  /** Nothing is owed any more. */
  readonly drained: boolean;
  /** Owes the events of `batch` that pass `filter` too. False: that is more than may wait. */
  add(batch: Batch, filter: Filter): boolean;
  /** Hands over the next portion to be written. `overtaken`: what is owed no longer exists. */
  take(): Uint8Array | 'overtaken' | undefined;
}
