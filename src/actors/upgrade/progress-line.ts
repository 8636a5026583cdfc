// One line of the progress socket: bytes -> what it says and the text that is relayed, or nothing (contract, section 4). Pure.

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

/** The line less its CR, if it had one. */
function withoutCr(line: Uint8Array): Uint8Array {
  return line.at(-1) === CR ? line.subarray(0, -1) : line;
}

/** What a line without its LF says; undefined when it is to be dropped. */
export function parseLine(bytes: Uint8Array): ProgressLine | undefined {
  const line = withoutCr(bytes);
  // Most garbage is told by its length or its lack of a brace, before anything is decoded.
  if (line.length > LINE_MAX_BYTES || !line.includes(0x7b)) return undefined;
  try {
    // ignoreBOM keeps a byte order mark, which JSON.parse then refuses: cutting it would not be byte for byte.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line);
    const says = eventOf(JSON.parse(text));
    // JSON allows no raw CR within a string, so each that is left stands between tokens.
    return says && { says, text: text.replaceAll('\r', ' ') };
  } catch {
    return undefined; // Not UTF-8 or not JSON: dropped silently, as the contract says.
  }
}

function eventOf(value: unknown): ProgressEvent | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { event, total, percent, current, step, success } = value as Readonly<Record<string, unknown>>;
  if (event === 'begin') return isInteger(total) ? { event, total } : undefined;
  if (event === 'end') return typeof success === 'boolean' ? { event, success } : undefined;
  if (event !== 'progress' || typeof step !== 'string') return undefined;
  return isInteger(percent) && isInteger(current) ? { event, percent, current, step } : undefined;
}

/** Of any size, as in JSON: the line is relayed as text. One that is beyond a double is infinite here. */
function isInteger(value: unknown): value is number {
  return (
    typeof value === 'number' && (Number.isInteger(value) || Math.abs(value) === Number.POSITIVE_INFINITY)
  );
}
