// Turns a connection's bytes into lines and each line into its event and the text to relay (docs/upgrades.md,
// "Progress"). Pure.

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

/** Parses a line without its LF; undefined if it is to be dropped. */
export function parseLine(bytes: Uint8Array): ProgressLine | undefined {
  const line = bytes.at(-1) === CR ? bytes.subarray(0, -1) : bytes;
  if (line.length > LINE_MAX_BYTES) return undefined;
  try {
    // ignoreBOM keeps a byte order mark, which JSON.parse then refuses: removing it would not be byte for
    // byte.
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
  return typeof value === 'number' && Math.trunc(value) === value;
}

/**
 * The lines without their LF, and what follows the last LF. An unfinished line is kept only up to the length
 * that makes it too long.
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let begun: Uint8Array = new Uint8Array(0);
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      yield Buffer.concat([begun, chunk.subarray(start, end)]);
      begun = new Uint8Array(0);
      start = end + 1;
    }
    begun = Buffer.concat([begun, chunk.subarray(start)]).subarray(0, LINE_MAX_BYTES + 2);
  }
  yield begun;
}
