// Makes timers of a built daemon end at once if their length is exactly one of the lengths in $HASTEN_S, in
// seconds, so that no test has to wait for them. It is loaded before the daemon's code (`node --import`).

const shortenedMs = (process.env['HASTEN_S'] ?? '').split(',').map((seconds) => Number(seconds) * 1000);
const realSetTimeout = globalThis.setTimeout;
const SOON_MS = 20;

/**
 * Only the form with a callback is shortened, because the daemon's clock does not use the form with a
 * promise.
 */
const hastened = (callback: (...values: unknown[]) => void, ms = 0, ...values: unknown[]): NodeJS.Timeout =>
  realSetTimeout(callback, shortenedMs.includes(ms) ? SOON_MS : ms, ...values);

Object.assign(globalThis, {
  setTimeout: Object.assign(hastened, { __promisify__: realSetTimeout.__promisify__ }),
});
