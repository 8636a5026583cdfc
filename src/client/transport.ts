// How a node is reached. Types only.

import type { AbortSignalType, Fetch } from './platform.js';

export interface Transport {
  /** The node's address without a trailing slash. It is empty for the page's own origin. */
  readonly base: string;
  readonly fetch: Fetch;
  /** The time-out of a request and its whole response. If undefined, `withDeadline` uses its default. */
  readonly timeoutMs?: number | undefined;
  /** Sent with each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** When this signal aborts, each request under way ends. */
  readonly signal?: AbortSignalType | undefined;
}
