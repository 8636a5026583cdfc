// Shortens timers of a built daemon, so that no test has to wait for them. The environment variable HASTEN_S
// lists the exact original lengths of these timers, in seconds. This file is loaded before the daemon's code
// (`node --import`).

const originalLengthsMs = (process.env['HASTEN_S'] ?? '').split(',').map((seconds) => Number(seconds) * 1000);
const realSetTimeout = globalThis.setTimeout;
const SOON_MS = 20;

/** Timers of `node:timers/promises` are not shortened, because the daemon's clock does not use them. */
const hastened = (callback: (...values: unknown[]) => void, ms = 0, ...values: unknown[]): NodeJS.Timeout =>
  realSetTimeout(callback, originalLengthsMs.includes(ms) ? SOON_MS : ms, ...values);

Object.assign(globalThis, { setTimeout: hastened });
