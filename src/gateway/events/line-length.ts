// Decides how long a line of the stream may be (docs/events.md, "Long lines"), and which part of longer data
// is sent. Pure.

import { capped } from '../../printable.js';
import type { Collection } from '../../protocol/actor/collections.js';
import type { TracklistRecord } from '../../protocol/actor/schemas.js';

/** Clients that use aiohttp before 3.14 end a stream at a line above 128 KiB. The limit is 8 KiB lower. */
const LINE_MAX_BYTES = 120 * 1024;
/** Besides the data, a line has the field's name, and brackets if it has a list of records. */
const FIELD_BYTES = 'data: []'.length;
export const DATA_MAX_BYTES = LINE_MAX_BYTES - FIELD_BYTES;

/**
 * By collection: the member that is left out first if a line would be too long. The answer to the `GET` of
 * the record has this member.
 */
const LEFT_OUT: Readonly<Partial<Record<Collection, string>>> = { 'upgrade.info': 'extra' };

/**
 * These counts are tried in this order until the line is short enough. With the count 64, for example, a
 * record keeps at most 64 characters of each text, 64 items of each list, and 64 members of each object.
 * Members whose names have more than 64 characters are left out. Backends limit the size of their records, so
 * these counts are hardly ever needed.
 */
const KEPT_COUNTS = [4096, 512, 64, 8];

/**
 * Returns the part of an event's data that a line has room for. Call it only if `json` exceeds
 * `DATA_MAX_BYTES`.
 */
export function shortenedData(collection: Collection, json: string): string {
  const data: Readonly<Record<string, unknown>> = JSON.parse(json);
  const members = Object.entries(data).filter(([name]) => name !== LEFT_OUT[collection]);
  const remaining = Object.fromEntries(members);
  let text = JSON.stringify(remaining);
  for (const keptCount of KEPT_COUNTS) {
    if (Buffer.byteLength(text) <= DATA_MAX_BYTES) break;
    text = JSON.stringify(remaining, (_name, value: unknown) => shortenedValue(value, keptCount));
  }
  return text;
}

function shortenedValue(value: unknown, keptCount: number): unknown {
  if (typeof value === 'string') return capped(value, keptCount);
  if (Array.isArray(value)) return value.slice(0, keptCount);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([name]) => name.length <= keptCount);
  return Object.fromEntries(members.slice(0, keptCount));
}

/** A tracklist that is too long keeps its first tracks. */
export function tracklistData(busName: string, json: string): string {
  // `{"tracks":[...]}` becomes `{"bus_name":"...","tracks":[...]}`.
  const whole = `{"bus_name":${JSON.stringify(busName)},${json.slice(1)}`;
  return Buffer.byteLength(whole) <= DATA_MAX_BYTES ? whole : truncated(busName, JSON.parse(json));
}

function truncated(busName: string, { tracks, ...otherMembers }: TracklistRecord): string {
  const head = JSON.stringify({ bus_name: busName, ...otherMembers, truncated: true, tracks: [] });
  let roomBytes = DATA_MAX_BYTES - Buffer.byteLength(head);
  const firstTracks: string[] = [];
  for (const track of tracks) {
    const text = JSON.stringify(track);
    roomBytes -= Buffer.byteLength(text) + ','.length;
    if (roomBytes < 0) break;
    firstTracks.push(text);
  }
  // The tracks take the place of the empty list at the end of `head`.
  return `${head.slice(0, -']}'.length)}${firstTracks.join(',')}]}`;
}
