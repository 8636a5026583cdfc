// Decides which lines of the progress socket are valid, and what is relayed of them (docs/upgrades.md,
// "Progress"). Pure.

/** A longer line is dropped (docs/upgrades.md, "Progress"). The line end, LF or CR LF, does not count. */
export const LINE_MAX_BYTES = 64 * 1024;

export type ProgressEvent =
  | { readonly event: 'begin'; readonly total: number }
  | { readonly event: 'progress'; readonly percent: number; readonly current: number; readonly step: string }
  | { readonly event: 'end'; readonly success: boolean };

export interface ProgressLine {
  readonly content: ProgressEvent;
  /**
   * The line as it came, except for CRs, which would end a line of the event stream. A CR at the end is
   * removed, and a CR between two tokens of the JSON becomes a space.
   */
  readonly text: string;
}

/**
 * A longer line is cut to this length: the longest valid line, its CR, and one byte more. So a cut line is
 * still too long, even if its last byte is a CR, which does not count.
 */
const CUT_LINE_BYTES = LINE_MAX_BYTES + 2;

const CR = 0x0d;
const LF = 0x0a;

/** `bytes` is a line without its LF. Undefined if the line is not valid. */
export function parseLine(bytes: Uint8Array): ProgressLine | undefined {
  const line = bytes.at(-1) === CR ? bytes.subarray(0, -1) : bytes;
  if (line.length > LINE_MAX_BYTES) return undefined;
  try {
    // With `ignoreBOM` a byte order mark stays in the text, and JSON.parse refuses it. Otherwise the mark
    // would be removed, and the text would not be the line as it came.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line);
    const content = progressEvent(JSON.parse(text));
    // JSON allows no raw CR within a string, so every remaining CR is between tokens.
    return content && { content, text: text.replaceAll('\r', ' ') };
  } catch {
    // The line is not UTF-8 or not JSON. Such a line is ignored like any other invalid line.
    return undefined;
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

/**
 * True for an integer of any size. Its size does not matter, because the line is relayed as a text.
 * `JSON.parse` makes Infinity of an integer that is too large for a double, and `Number.isInteger` would
 * refuse Infinity.
 */
function isJsonInteger(value: unknown): value is number {
  return typeof value === 'number' && Math.trunc(value) === value;
}

/**
 * Yields the lines without their LF, and at the end the bytes after the last LF. A line that is too long may
 * be cut, so that memory stays bounded. A cut line still has enough bytes to be recognized as too long.
 */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let unfinished: Uint8Array = new Uint8Array(0);
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      yield Buffer.concat([unfinished, chunk.subarray(start, end)]);
      unfinished = new Uint8Array(0);
      start = end + 1;
    }
    unfinished = Buffer.concat([unfinished, chunk.subarray(start)]).subarray(0, CUT_LINE_BYTES);
  }
  yield unfinished;
}
