// Loaded into a built daemon before its code (`node --import`). It lets timers end at once whose length is
// exactly one of $HASTEN_S, in seconds, so that a test need not wait for a minute.

const shortenedMs = (process.env['HASTEN_S'] ?? '').split(',').map((seconds) => Number(seconds) * 1000);
const real = globalThis.setTimeout;
const SOON_MS = 20;

/**
 * Only the form with a callback is shortened, because the daemon's clock does not use the form with a
 * promise.
 */
const hastened = (callback: (...values: unknown[]) => void, ms = 0, ...values: unknown[]): NodeJS.Timeout =>
  real(callback, shortenedMs.includes(ms) ? SOON_MS : ms, ...values);

Object.assign(globalThis, { setTimeout: Object.assign(hastened, { __promisify__: real.__promisify__ }) });
