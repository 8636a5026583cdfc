// Bytes of one connection -> lines, one at a time, so that a reader can stop in the middle of a chunk. Pure; holds at most
// one unfinished line of the longest kind beside the chunk that it was given.

const LF = 0x0a;
const NOTHING = new Uint8Array(0);

export class LineSplitter {
  readonly #maxBytes: number;
  #chunk: Uint8Array = NOTHING;
  /** The beginning of a line whose end has not come. */
  #carry: Uint8Array = NOTHING;
  /** The line that is being read is too long already: its rest is dropped up to the next LF. */
  #overlong = false;

  /** Lines of more than `maxBytes`, less the LF, are dropped. */
  constructor(maxBytes: number) {
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
      if (this.#overlong || this.#carry.length + part.length > this.#maxBytes) {
        this.#carry = NOTHING;
        this.#overlong = end < 0;
        // An end of a dropped line is a step forward too: the caller counts it like a line.
        if (end >= 0) return NOTHING;
      } else if (end < 0) {
        this.#carry = Buffer.concat([this.#carry, part]);
      } else {
        const line = this.#carry.length === 0 ? part : Buffer.concat([this.#carry, part]);
        this.#carry = NOTHING;
        return line;
      }
    }
    return undefined;
  }

  /** What stands behind the last LF when nothing more will come. */
  rest(): Uint8Array {
    const line = this.#carry;
    this.#carry = NOTHING;
    return line;
  }
}
