// What the request handler needs of the event streams; gateway.ts puts the hub behind it. Types only.

import type { ByteSink, OpenStream } from './events/stream.js';
import type { StreamStats } from './health-record.js';

export type OpenResult =
  | { readonly kind: 'open'; readonly stream: OpenStream }
  | { readonly kind: 'full' }
  | { readonly kind: 'bad-query'; readonly detail: string };

export interface EventStreams {
  /** Undefined: the query is acceptable. */
  checkQuery(query: string, lastEventId: string | undefined): string | undefined;
  /** Writes to the sink only if the result is `open`. */
  open(query: string, lastEventId: string | undefined, sink: ByteSink): OpenResult;
  stats(): StreamStats;
}
