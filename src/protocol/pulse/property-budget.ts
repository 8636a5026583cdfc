// Decides which entries of a property list are kept. Lists are untrusted free text: any sound client may give
// each of its hundreds of streams a thousand properties. Pure; the caller skips other entries without
// decoding them.

import { TEXT_MAX_BYTES } from './text-cache.js';

/** Entries kept of one list, the first, with room for those that are kept wherever they stand. */
const PROPS_MAX_ENTRIES = 128;
/**
 * Keys and values of one list, in bytes. 130 streams of 110 kB each filled a thread's whole heap (measured);
 * an ALSA sink has 2 kB.
 */
const PROPS_MAX_BYTES = 8192;

/**
 * Properties that records need, and that identify players, masters and Bluetooth devices (docs/http-api.md,
 * "Records"): always kept.
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

/** For one list. Applied again to the entries that it has admitted, it admits the same ones. */
export class PropertyBudget {
  #entries = PROPS_MAX_ENTRIES - NEEDED.size;
  #bytes: number;

  constructor(maxBytes = PROPS_MAX_BYTES) {
    this.#bytes = maxBytes;
  }

  /** True if the next entry is kept. A long text counts only with its kept part. */
  admits(key: string, keyBytes: number, valueBytes: number): boolean {
    const bytes = Math.min(keyBytes, TEXT_MAX_BYTES) + Math.min(valueBytes, TEXT_MAX_BYTES);
    if (this.#entries === 0 || bytes > this.#bytes) return NEEDED.has(key);
    this.#entries -= 1;
    this.#bytes -= bytes;
    return true;
  }
}
