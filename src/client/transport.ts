// The address and the settings by which the client reaches a node. Types only.

import type { AbortSignalType, Fetch } from './platform.js';

export interface Transport {
  /** The node's address without a trailing slash. It is empty for the page's own origin. */
  readonly base: string;
  readonly fetch: Fetch;
  /** The time-out of a request and its whole response. If undefined, `withDeadline` uses its default. */
  readonly timeoutMs?: number | undefined;
  /** Sent with each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** When this signal aborts, all pending and later requests fail. The event stream ignores this signal. */
  readonly signal?: AbortSignalType | undefined;
}
