// When to try again to reach a lost peer. Pure: the caller counts the attempts, brings the randomness and waits.

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 30_000;
/** The share of a delay that chance may take away: it only shortens, so the longest delay stays the longest. */
const JITTER = 0.25;

/**
 * The wait in ms before attempt number `attempt` since the peer was lost (contract, section 7): 0 is at once, then
 * 250 ms, doubled each time up to 30 s. `random` is in 0..1, so that nodes that lost one peer do not return in step.
 */
export function backoffMs(attempt: number, random: number): number {
  if (attempt <= 0) return 0;
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), LONGEST_DELAY_MS);
  return Math.round(delayMs * (1 - JITTER * random));
}
