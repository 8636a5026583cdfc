// Decides which entries of a property list are kept. Limits are needed, because any program may have hundreds
// of streams with a thousand properties each.

import { TEXT_MAX_BYTES } from './text-cache.js';

/**
 * At most this many entries of a list are kept: the first ones, and all entries whose key is in
 * `ALWAYS_KEPT_KEYS`.
 */
const PROPS_MAX_ENTRIES = 128;
/**
 * The limit for the keys and values of one list. Entries of `ALWAYS_KEPT_KEYS` are kept even beyond this
 * limit. The limit is high enough, because the list of an ALSA sink has only 2 kB. Without a limit, 130
 * streams with lists of 110 kB filled a thread's whole heap (docs/development/what-we-learnt.md, "PulseAudio
 * and PipeWire").
 */
const PROPS_MAX_BYTES = 8192;

/**
 * Always kept: properties that records need, and those that identify players, masters, filters and Bluetooth
 * devices (docs/http-api.md, "Records").
 */
const ALWAYS_KEPT_KEYS: ReadonlySet<string> = new Set([
  'media.name',
  'application.id',
  'application.name',
  'application.process.binary',
  'application.process.host',
  'application.process.id',
  'application.process.user',
  'node.nick',
  'node.link-group',
  'device.nick',
  'device.master_device',
  'device.string',
  'api.bluez5.address',
]);

/** The budget of one list. */
export class PropertyBudget {
  /** The entries of `ALWAYS_KEPT_KEYS` may come last, so room is reserved for them. */
  #entriesLeft = PROPS_MAX_ENTRIES - ALWAYS_KEPT_KEYS.size;
  #bytesLeft: number;

  constructor(maxBytes = PROPS_MAX_BYTES) {
    this.#bytesLeft = maxBytes;
  }

  /**
   * Counts the next entry, and returns true if it is kept. Key and value each count for at most
   * TEXT_MAX_BYTES, because longer texts are cut. The caller decodes the value only if the result is true.
   */
  admit(key: string, keyBytes: number, valueBytes: number): boolean {
    const bytes = Math.min(keyBytes, TEXT_MAX_BYTES) + Math.min(valueBytes, TEXT_MAX_BYTES);
    if (this.#entriesLeft === 0 || bytes > this.#bytesLeft) return ALWAYS_KEPT_KEYS.has(key);
    this.#entriesLeft -= 1;
    this.#bytesLeft -= bytes;
    return true;
  }
}
