// Ends a request that takes too long, or whose signal aborts. `AbortSignal.timeout` does this only from
// Safari 16 and Chromium 103 on.

/**
 * `work` gets a signal that aborts after `ms`, or when `ended` does. If it fails because of that, the
 * rejection is the reason.
 */
export async function withDeadline<T>(
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  ended?: AbortSignal,
): Promise<T> {
  const controller = new AbortController();
  const late = new Error(`No answer within ${ms} ms`);
  const timer = setTimeout(() => controller.abort(late), ms);
  const end = (): void => controller.abort(ended?.reason);
  ended?.addEventListener('abort', end);
  if (ended?.aborted) end();
  try {
    return await work(controller.signal);
  } catch (error) {
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    clearTimeout(timer);
    ended?.removeEventListener('abort', end);
  }
}
