// Decides which entries of a property list are kept. Their number must be bounded, because any program may
// give each of its hundreds of streams a thousand properties. Pure; the caller skips the other entries
// without decoding them.

import { TEXT_MAX_BYTES } from './text-cache.js';

/** How many entries of one list are kept: the first ones, and the needed ones wherever they stand. */
const PROPS_MAX_ENTRIES = 128;
/**
 * The bytes of keys and values that are kept of one list. An ALSA sink has 2 kB; 130 streams with 110 kB each
 * filled a thread's whole heap (measured).
 */
const PROPS_MAX_BYTES = 8192;

/**
 * Always kept: properties that records need, and those that identify players, masters and Bluetooth devices
 * (docs/http-api.md, "Records").
 */
const NEEDED: ReadonlySet<string> = new Set([
  'media.name',
  'application.id',
  'application.name',
  'application.process.binary',
  'application.process.host',
  'application.process.id',
  'application.process.user',
  'node.nick',
  'device.nick',
  'device.master_device',
  'device.string',
  'api.bluez5.address',
]);

/** The budget of one list. */
export class PropertyBudget {
  #entries = PROPS_MAX_ENTRIES - NEEDED.size;
  #bytes: number;

  constructor(maxBytes = PROPS_MAX_BYTES) {
    this.#bytes = maxBytes;
  }

  /** True if the next entry is kept. Only the part of a long text that would be kept counts. */
  admits(key: string, keyBytes: number, valueBytes: number): boolean {
    const bytes = Math.min(keyBytes, TEXT_MAX_BYTES) + Math.min(valueBytes, TEXT_MAX_BYTES);
    if (this.#entries === 0 || bytes > this.#bytes) return NEEDED.has(key);
    this.#entries -= 1;
    this.#bytes -= bytes;
    return true;
  }
}
