// Decides which entries of a property list are kept. Any program may give each of its hundreds of streams a
// thousand properties.

import { TEXT_MAX_BYTES } from './text-cache.js';

/** At most this many entries of a list are kept: the first ones, and `ALWAYS_KEPT_KEYS` at any place. */
const PROPS_MAX_ENTRIES = 128;
/**
 * The limit for the keys and values of one list. Only entries of `ALWAYS_KEPT_KEYS` may exceed it. It is
 * enough, because the list of an ALSA sink has only 2 kB. It is needed, because without it 130 streams with
 * 110 kB each filled a thread's whole heap (docs/development/what-we-learnt.md, "PulseAudio and PipeWire").
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
   * Counts the next entry, and returns true if it is kept. If a text would be cut, only the part that would
   * be left of it is counted. If an entry is not kept, the caller skips its value without decoding it.
   */
  admit(key: string, keyBytes: number, valueBytes: number): boolean {
    const bytes = Math.min(keyBytes, TEXT_MAX_BYTES) + Math.min(valueBytes, TEXT_MAX_BYTES);
    if (this.#entriesLeft === 0 || bytes > this.#bytesLeft) return ALWAYS_KEPT_KEYS.has(key);
    this.#entriesLeft -= 1;
    this.#bytesLeft -= bytes;
    return true;
  }
}
