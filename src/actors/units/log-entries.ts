// Turns journalctl's JSON into the entries that clients get, bounded. Pure. Any field may be missing, binary,
// or of any size.

import { LOG_LINES } from '../../protocol/actor/parameters.js';
import type { LogEntryRecord } from '../../protocol/actor/schemas.js';
import { clipped, jsonObject } from '../text.js';

/** docs/http-api.md, "Unit routes". */
const ANSWER_MAX_BYTES = 64 * 1024;
/** UTF-16 units; a longer message is cut. Some entries fit into every answer. */
const MESSAGE_MAX_UNITS = 4096;
/** The priority of what has none, as for journalctl. */
const INFO = 6;
const ESCAPES = /[^\P{Cc}\n\t]\[[\d;:?]*[@-~]/gu;
const CONTROLS = /[^\P{Cc}\n\t]/gu;

/**
 * `newestFirst` has an object in each line, the last of which may be cut. The text is the JSON of the newest
 * that fit, oldest first.
 */
export function logText(newestFirst: string): string {
  const kept: string[] = [];
  let bytes = 1;
  for (const line of newestFirst.split('\n', LOG_LINES.maximum)) {
    const entry = entryOf(line);
    if (entry === undefined) continue;
    const text = JSON.stringify(entry);
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > ANSWER_MAX_BYTES) break;
    kept.push(text);
  }
  return `[${kept.reverse().join()}]`;
}

/** Undefined for what is no whole entry. */
function entryOf(line: string): LogEntryRecord | undefined {
  const fields = jsonObject(line);
  const ms = Math.floor(Number(fields?.['__REALTIME_TIMESTAMP']) / 1000);
  const time = new Date(ms);
  if (fields === undefined || Number.isNaN(time.getTime())) return undefined;
  const priority = /^[0-7]$/.test(String(fields['PRIORITY'])) ? Number(fields['PRIORITY']) : INFO;
  // Colours are left out, and control characters that are no line breaks.
  const message = fieldText(fields['MESSAGE']).replace(ESCAPES, '').replace(CONTROLS, '').trimEnd();
  return { time: time.toISOString(), priority, message: clipped(message, MESSAGE_MAX_UNITS) };
}

/**
 * A field that is no printable text is an array of its bytes; one that occurs several times is an array of
 * its values.
 */
function fieldText(field: unknown): string {
  if (typeof field === 'string') return field;
  if (!Array.isArray(field)) return '';
  const isBytes = field.every((each) => typeof each === 'number');
  return isBytes ? Buffer.from(field).toString() : field.map(fieldText).join('\n');
}
