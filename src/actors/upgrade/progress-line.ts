// Turns a connection's bytes into lines and each line into its event and the text to relay (docs/upgrades.md, "Progress"). Pure.

/** A longer line, not counting its line end, is dropped (docs/upgrades.md, "Progress"). */
export const LINE_MAX_BYTES = 64 * 1024;

export type ProgressEvent =
  | { readonly event: 'begin'; readonly total: number }
  | { readonly event: 'progress'; readonly percent: number; readonly current: number; readonly step: string }
  | { readonly event: 'end'; readonly success: boolean };

export interface ProgressLine {
  readonly content: ProgressEvent;
  /** The line byte for byte, without a trailing CR; a CR between tokens becomes a space. */
  readonly text: string;
}

const CR = 0x0d;
const LF = 0x0a;
const OPENING_BRACE = 0x7b;
const NOTHING = new Uint8Array(0);

/** Parses a line without its LF; undefined if it is to be dropped. */
export function parseLine(bytes: Uint8Array): ProgressLine | undefined {
  const line = bytes.at(-1) === CR ? bytes.subarray(0, -1) : bytes;
  // Most garbage is recognized by its length or its lack of a brace, before anything is decoded.
  if (line.length > LINE_MAX_BYTES || !line.includes(OPENING_BRACE)) return undefined;
  try {
    // ignoreBOM keeps a byte order mark, which JSON.parse then refuses: removing it would not be byte for byte.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line);
    const content = progressEvent(JSON.parse(text));
    // JSON allows no raw CR within a string, so every remaining one is between tokens.
    return content && { content, text: text.replaceAll('\r', ' ') };
  } catch {
    return undefined; // Not UTF-8 or not JSON: dropped silently.
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

/** Any size, as in JSON, because the line is relayed as text. A number beyond a double is infinite here. */
function isJsonInteger(value: unknown): value is number {
  return (
    typeof value === 'number' && (Number.isInteger(value) || Math.abs(value) === Number.POSITIVE_INFINITY)
  );
}

/** Splits chunks into lines. Holds at most the chunk in which an unfinished line began, or such a line of the greatest length. */
export class LineSplitter {
  readonly #maxBytes: number;
  #begun: Uint8Array = NOTHING;
  /** True if that line is too long already: its rest is dropped up to the next LF. */
  #overlong = false;

  /** Lines of more than `maxBytes` without the LF are dropped; by default one more byte than the limit, for a CR. */
  constructor(maxBytes = LINE_MAX_BYTES + 1) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that end in the chunk, without their LF. */
  take(chunk: Uint8Array): readonly Uint8Array[] {
    const lines: Uint8Array[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      this.#append(chunk.subarray(start, end));
      if (!this.#overlong) lines.push(this.#begun);
      this.#begun = NOTHING;
      this.#overlong = false;
      start = end + 1;
    }
    this.#append(chunk.subarray(start));
    return lines;
  }

  /** The text after the last LF, when nothing more will come. */
  rest(): Uint8Array {
    return this.#begun;
  }

  #append(part: Uint8Array): void {
    this.#overlong ||= this.#begun.length + part.length > this.#maxBytes;
    if (this.#overlong) this.#begun = NOTHING;
    else this.#begun = this.#begun.length === 0 ? part : Buffer.concat([this.#begun, part]);
  }
}
