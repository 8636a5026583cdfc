// Ends a request that takes too long, or whose signal aborts. `AbortSignal.timeout` is not used, because two
// of the browsers in packaging/browsers.mjs lack it: Safari has it from 16 on, and Chromium from 103 on.

/** The default time-out. The node itself takes at most 10 s. */
const TIMEOUT_MS = 15_000;

/**
 * `work` gets a signal that aborts after `ms`, or when `callerSignal` aborts. Pass undefined as `ms` for the
 * default. If `work` fails after the abort, the promise rejects with the reason of the abort.
 */
export async function withDeadline<T>(
  ms = TIMEOUT_MS,
  work: (signal: AbortSignal) => Promise<T>,
  callerSignal?: AbortSignal,
): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error(`No answer within ${ms} ms`)), ms);
  const onAbort = (): void => controller.abort(callerSignal?.reason);
  callerSignal?.addEventListener('abort', onAbort);
  if (callerSignal?.aborted) onAbort();
  try {
    return await work(controller.signal);
  } catch (error) {
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    clearTimeout(timer);
    callerSignal?.removeEventListener('abort', onAbort);
  }
}
