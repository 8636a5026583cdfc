// How a node is reached. Types only.

import type { AbortSignalType, Fetch } from './platform.js';

export interface Transport {
  /** Without a trailing slash; empty for the page's own origin. */
  readonly base: string;
  readonly fetch: Fetch;
  /** For a request and its whole response; if undefined, the default of `withDeadline`. */
  readonly timeoutMs?: number | undefined;
  /** Sent with each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** When it aborts, each request under way ends. */
  readonly signal?: AbortSignalType | undefined;
}
