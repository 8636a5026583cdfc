// Commands that wait: one of each queue runs at a time, in order. A waiting setting is dropped when a newer one comes, so that a flood ends
// with the last value of each.

import type { QueuedRequest } from './commands.js';

/** In all queues together: more than people and homes send at a time. */
const WAITING_MAX = 256;
/** A flood may make up any number of queues, and other clients must get their turn. */
const UNDER_WAY_MAX = 16;

export interface WaitingRequest extends QueuedRequest {
  readonly topic: string;
}

/**
 * The function that takes a request; false if too many wait already: then this one is dropped. `carryOut` runs a request; it settles when that
 * is done, and never rejects.
 */
export function commandQueues(
  carryOut: (request: WaitingRequest) => Promise<void>,
): (request: WaitingRequest) => boolean {
  const waiting: WaitingRequest[] = [];
  /** The queues that have a request under way. */
  const busy = new Set<string>();
  const runWaiting = (): void => {
    const at = busy.size < UNDER_WAY_MAX ? waiting.findIndex(({ queue }) => !busy.has(queue)) : -1;
    const [request] = at < 0 ? [] : waiting.splice(at, 1);
    if (request === undefined) return;
    busy.add(request.queue);
    void carryOut(request).then(() => {
      busy.delete(request.queue);
      runWaiting();
    });
    runWaiting();
  };
  return (request) => {
    const { supersedes } = request;
    const older = waiting.findIndex((each) => supersedes !== undefined && each.supersedes === supersedes);
    if (older >= 0) waiting.splice(older, 1);
    waiting.push(request);
    runWaiting();
    if (waiting.length <= WAITING_MAX) return true;
    waiting.pop();
    return false;
  };
}
