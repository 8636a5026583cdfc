// Ends a request that takes too long. `AbortSignal.timeout` does this only from Safari 16 and Chromium 103
// on.

/** `work` gets a signal that aborts after `ms`. If it fails because of that, the rejection says so. */
export async function withDeadline<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const late = new Error(`No answer within ${ms} ms`);
  const timer = setTimeout(() => controller.abort(late), ms);
  try {
    return await work(controller.signal);
  } catch (error) {
    throw controller.signal.aborted ? late : error;
  } finally {
    clearTimeout(timer);
  }
}
