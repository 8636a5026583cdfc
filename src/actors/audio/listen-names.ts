// Recognizes the streams by which the service lets an input be heard (listen-modules.ts). Pure.

import type { SinkInputInfo } from '../../protocol/pulse/records.js';

/** The property that marks such a stream, and has the name of the input. */
export const LISTEN_MARK = 'tonearm.listen';

/**
 * The name of the input that is heard through a stream. Undefined for a stream of a client, whatever its
 * properties say: the service's are streams of a module.
 */
export function inputOf({ client, ownerModule, props }: SinkInputInfo): string | undefined {
  return client === undefined && ownerModule !== undefined ? props[LISTEN_MARK] : undefined;
}
