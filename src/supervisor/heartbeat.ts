// How a thread that says nothing is told from one that has nothing to say. Pure decisions; the supervisor sends the pings.

export interface HeartbeatPolicy {
  /** Between pings, and the age at which a thread gets its first one: loading is no reason for suspicion. */
  readonly everyMs: number;
  readonly pongWithinMs: number;
}

/** Seldom, because each beat wakes every thread. */
export const HEARTBEAT: HeartbeatPolicy = { everyMs: 30_000, pongWithinMs: 10_000 };

/** Not exactly 1: reading the clocks costs a little, and the loop may have idled just behind the ping. */
const BUSY_UTILIZATION = 0.95;

export type Verdict =
  | { readonly kind: 'wait' }
  /** The thread is to be killed, for this reason. */
  | { readonly kind: 'kill'; readonly reason: string };

/**
 * Judges a thread whose pong did not come in time. `utilization` is that of its event loop since the ping or the last
 * judgement, 0..1; undefined for a task that never got a thread. `missed` counts earlier judgements of the same ping.
 *
 * A busy loop is hung. An idle loop without an answer has another explanation that is not the actor's fault: the whole
 * process was frozen, or the main thread was, and the pong lies unread. So it gets the same time once more; after that
 * its mailbox is broken, and a thread that nobody can stop or ask is as dead as a hung one.
 */
export function judge(utilization: number | undefined, missed: number, policy: HeartbeatPolicy): Verdict {
  const seconds = ((missed + 1) * policy.pongWithinMs) / 1000;
  if (utilization !== undefined && utilization >= BUSY_UTILIZATION) {
    return { kind: 'kill', reason: `hung: busy and no answer to a ping for ${seconds} s` };
  }
  if (missed === 0) return { kind: 'wait' };
  return { kind: 'kill', reason: `deaf: idle and no answer to a ping for ${seconds} s` };
}
