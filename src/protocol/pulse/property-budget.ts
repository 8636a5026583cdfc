// Which entries of a property list are kept. Lists are free text of strangers: any sound client may give each of its hundreds of
// streams a thousand properties. Pure; who asks skips what is not kept without making anything of it.

import { TEXT_MAX_BYTES } from './text-cache.js';

/** Entries of one list, the first. */
const PROPS_MAX_ENTRIES = 128;
/** Keys and values of one list, in bytes. 130 streams of 110 kB each took a thread's whole heap (measured); an ALSA sink has 2 kB. */
const PROPS_MAX_BYTES = 8192;

/** What records are made of, and players recognised by (docs/http-api.md, "Records"): kept also where there is no room left. */
const NEEDED: ReadonlySet<string> = new Set([
  'media.name',
  'application.name',
  'application.process.binary',
  'application.process.host',
  'application.process.id',
  'application.process.user',
  'node.nick',
  'device.nick',
]);

/** For one list. Asked again about what it has let pass, it lets the same pass. */
export class PropertyBudget {
  #entries = PROPS_MAX_ENTRIES;
  #bytes: number;

  constructor(maxBytes = PROPS_MAX_BYTES) {
    this.#bytes = maxBytes;
  }

  /** Whether the next entry is kept. Of long texts counts what is kept of them. */
  admits(key: string, keyBytes: number, valueBytes: number): boolean {
    const bytes = Math.min(keyBytes, TEXT_MAX_BYTES) + Math.min(valueBytes, TEXT_MAX_BYTES);
    if (this.#entries === 0 || bytes > this.#bytes) return NEEDED.has(key);
    this.#entries -= 1;
    this.#bytes -= bytes;
    return true;
  }
}
