// Decides which entries of a log a client gets, and what is in them. Any field of journalctl's JSON may be
// missing, binary or very long, but the entries for the client are bounded. Pure.

import { clipped } from '../../printable.js';
import { LOG_LINES } from '../../protocol/actor/parameters.js';
import type { LogEntryRecord } from '../../protocol/actor/schemas.js';
import { jsonObject } from '../text.js';

/** A longer answer loses its oldest entries (docs/http-api.md, "Logs of units"). */
const ANSWER_MAX_BYTES = 64 * 1024;
/** In UTF-16 units. A longer message is cut, so that every answer has room for several entries. */
const MESSAGE_MAX_UNITS = 4096;
/** The priority of an entry that has no valid one. journalctl assumes the same priority. */
const INFO_PRIORITY = 6;
/**
 * Sequences that set a colour of a terminal or move its cursor, such as ESC and then `[1;31m`: a control
 * character (`\p{Cc}`), `[`, perhaps numbers, and a last character such as `m`. The control character is no
 * line break, tab or carriage return. For example, `\r[download] 5%` rewrites a line of progress, and its
 * beginning `\r[d` is no sequence.
 */
const ESCAPES = /(?![\n\t\r])\p{Cc}\[[\d;:?]*[@-~]/gu;
/** All control characters except line breaks and tabs. */
const CONTROLS = /(?![\n\t])\p{Cc}/gu;

/**
 * A JSON array of the newest entries, as many as fit into an answer. The array begins with the oldest of
 * them. `newestFirst` is journalctl's output, which has one entry in each line and begins with the newest
 * entry. Its last line may be cut off.
 */
export function logText(newestFirst: string): string {
  const entries: string[] = [];
  let answerBytes = '['.length;
  for (const line of newestFirst.split('\n', LOG_LINES.maximum)) {
    const entry = parseEntry(line);
    if (entry === undefined) continue;
    const text = JSON.stringify(entry);
    // A comma or the closing bracket follows each entry.
    answerBytes += Buffer.byteLength(text) + 1;
    if (answerBytes > ANSWER_MAX_BYTES) break;
    entries.push(text);
  }
  return `[${entries.reverse().join()}]`;
}

/** Undefined if the line is no JSON object, or has no valid time. */
function parseEntry(line: string): LogEntryRecord | undefined {
  const fields = jsonObject(line);
  const ms = Math.floor(Number(fields?.['__REALTIME_TIMESTAMP']) / 1000);
  const time = new Date(ms);
  if (fields === undefined || Number.isNaN(time.getTime())) return undefined;
  const isPriority = /^[0-7]$/.test(String(fields['PRIORITY']));
  const priority = isPriority ? Number(fields['PRIORITY']) : INFO_PRIORITY;
  const rawMessage = journalText(fields['MESSAGE']);
  const message = rawMessage.replace(ESCAPES, '').replace(CONTROLS, '').trimEnd();
  return { time: time.toISOString(), priority, message: clipped(message, MESSAGE_MAX_UNITS) };
}

/**
 * The text of a field. journalctl gives an unprintable field as an array of bytes. A field that occurs
 * several times is an array of values.
 */
function journalText(field: unknown): string {
  if (typeof field === 'string') return field;
  if (!Array.isArray(field)) return '';
  const isBytes = field.every((value) => typeof value === 'number');
  return isBytes ? Buffer.from(field).toString() : field.map(journalText).join('\n');
}
