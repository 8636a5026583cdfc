// The protocol versions that are spoken, and the one that two sides agree on. Pure.

/** Below 32 there are field variants that no server of the last decade needs. */
export const OLDEST_VERSION = 32;
/** What is offered. Every field that a newer version may add is one that we did not ask for. */
export const NEWEST_VERSION = 35;

/** The upper half of the word carries flags (shared memory, memfd); ours are clear, so theirs say nothing. */
const VERSION_BITS = 0xffff;

/** Both sides speak the lower of the two; undefined when the server's is older than anything we read. */
export function negotiate(answered: number): number | undefined {
  const version = Math.min(NEWEST_VERSION, answered & VERSION_BITS);
  return version < OLDEST_VERSION ? undefined : version;
}
