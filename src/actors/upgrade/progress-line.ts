// Bytes of a connection -> lines -> what each says and the text that is relayed, or nothing (contract, section 4). Pure.

/** A longer line is dropped (contract, section 4), not counting its line end. */
export const LINE_MAX_BYTES = 64 * 1024;

export type ProgressEvent =
  | { readonly event: 'begin'; readonly total: number }
  | { readonly event: 'progress'; readonly percent: number; readonly current: number; readonly step: string }
  | { readonly event: 'end'; readonly success: boolean };

export interface ProgressLine {
  readonly says: ProgressEvent;
  /** The line byte for byte, less a trailing CR; a CR between tokens is a space. */
  readonly text: string;
}

const CR = 0x0d;
const LF = 0x0a;
const OPENING_BRACE = 0x7b;
const NOTHING = new Uint8Array(0);

/** What a line without its LF says; undefined when it is to be dropped. */
export function parseLine(bytes: Uint8Array): ProgressLine | undefined {
  const line = bytes.at(-1) === CR ? bytes.subarray(0, -1) : bytes;
  // Most garbage is told by its length or its lack of a brace, before anything is decoded.
  if (line.length > LINE_MAX_BYTES || !line.includes(OPENING_BRACE)) return undefined;
  try {
    // ignoreBOM keeps a byte order mark, which JSON.parse then refuses: cutting it would not be byte for byte.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line);
    const says = progressEvent(JSON.parse(text));
    // JSON allows no raw CR within a string, so each that is left stands between tokens.
    return says && { says, text: text.replaceAll('\r', ' ') };
  } catch {
    return undefined; // Not UTF-8 or not JSON: dropped silently, as the contract says.
  }
}

function progressEvent(value: unknown): ProgressEvent | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { event, total, percent, current, step, success } = value as Readonly<Record<string, unknown>>;
  if (event === 'begin') return isJsonInteger(total) ? { event, total } : undefined;
  if (event === 'end') return typeof success === 'boolean' ? { event, success } : undefined;
  if (event !== 'progress' || typeof step !== 'string') return undefined;
  return isJsonInteger(percent) && isJsonInteger(current) ? { event, percent, current, step } : undefined;
}

/** Of any size, as in JSON: the line is relayed as text. One that is beyond a double is infinite here. */
function isJsonInteger(value: unknown): value is number {
  return (
    typeof value === 'number' && (Number.isInteger(value) || Math.abs(value) === Number.POSITIVE_INFINITY)
  );
}

/**
 * Takes chunks apart into lines, one at a time, so that a reader can stop in the middle of a chunk. Holds at most one unfinished
 * line of the longest kind beside the chunk that it was given.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  #chunk: Uint8Array = NOTHING;
  /** The beginning of a line whose end has not come. */
  #begun: Uint8Array = NOTHING;
  /** The line that is being read is too long already: its rest is dropped up to the next LF. */
  #overlong = false;

  /** Lines of more than `maxBytes`, less the LF, are dropped; one more than may be relayed, for a CR. */
  constructor(maxBytes = LINE_MAX_BYTES + 1) {
    this.#maxBytes = maxBytes;
  }

  /** Takes a chunk; the last one must have been read to its end. */
  feed(chunk: Uint8Array): void {
    this.#chunk = chunk;
  }

  /** Bytes of the chunk that have not been read. */
  get unread(): number {
    return this.#chunk.length;
  }

  /** The next whole line without its LF; undefined when another chunk is needed. Lines that are too long are skipped. */
  next(): Uint8Array | undefined {
    while (this.#chunk.length > 0) {
      const end = this.#chunk.indexOf(LF);
      const part = end < 0 ? this.#chunk : this.#chunk.subarray(0, end);
      this.#chunk = end < 0 ? NOTHING : this.#chunk.subarray(end + 1);
      if (this.#overlong || this.#begun.length + part.length > this.#maxBytes) {
        this.#begun = NOTHING;
        this.#overlong = end < 0;
        // An end of a dropped line is a step forward too: the caller counts it like a line.
        if (end >= 0) return NOTHING;
      } else if (end < 0) {
        this.#begun = Buffer.concat([this.#begun, part]);
      } else {
        const line = this.#begun.length === 0 ? part : Buffer.concat([this.#begun, part]);
        this.#begun = NOTHING;
        return line;
      }
    }
    return undefined;
  }

  /** What stands behind the last LF when nothing more will come. */
  rest(): Uint8Array {
    const line = this.#begun;
    this.#begun = NOTHING;
    return line;
  }
}
