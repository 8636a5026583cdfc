// Loaded into a built daemon before its code (`node --import`): timers of exactly the lengths of $HASTEN_S,
// in seconds, are over at once. A test can so see the end of what waits for a minute in the daemon.

const lengths = (process.env['HASTEN_S'] ?? '').split(',').map((seconds) => Number(seconds) * 1000);
const real = globalThis.setTimeout;
const SOON_MS = 20;

/** Its promise form stays as it was: the daemon's clock does not use that. */
const hastened = (callback: (...values: unknown[]) => void, ms = 0, ...values: unknown[]): NodeJS.Timeout =>
  real(callback, lengths.includes(ms) ? SOON_MS : ms, ...values);

Object.assign(globalThis, { setTimeout: Object.assign(hastened, { __promisify__: real.__promisify__ }) });
