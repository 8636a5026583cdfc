// Decides how long a line of the stream may be (docs/events.md, "Long lines"), and which part of longer data
// is sent. Pure.

import type { Collection } from '../../protocol/actor/collections.js';
import type { TracklistRecord } from '../../protocol/actor/schemas.js';

/** Clients on aiohttp before 3.14 end a stream at a line above 128 KiB. */
const LINE_MAX_BYTES = 120 * 1024;
/** The rest of a line, beside the data: the field's name, and the brackets of a list. */
const FIELD_BYTES = 'data: []'.length;
export const DATA_MAX_BYTES = LINE_MAX_BYTES - FIELD_BYTES;

/** The member that an event lacks if its line would be too long. The `GET` of the record has it. */
const LEFT_OUT: Readonly<Partial<Record<Collection, string>>> = { 'upgrade.info': 'extra' };

/**
 * A record that is too long keeps this many characters of each text, items of each list and members of each
 * object. The first of these bounds that makes the line short enough is taken. Backends bound their records,
 * so a bound is hardly ever applied.
 */
const SHORTER_MAX = [4096, 512, 64, 8];

/** The part of a record that a line has room for. `json`: its data, which is longer than `DATA_MAX_BYTES`. */
export function shortenedData(collection: Collection, json: string): string {
  const record: Readonly<Record<string, unknown>> = JSON.parse(json);
  const members = Object.entries(record).filter(([name]) => name !== LEFT_OUT[collection]);
  const remaining = Object.fromEntries(members);
  let text = JSON.stringify(remaining);
  for (const max of SHORTER_MAX) {
    if (Buffer.byteLength(text) <= DATA_MAX_BYTES) break;
    text = JSON.stringify(remaining, (_name, value: unknown) => shortened(value, max));
  }
  return text;
}

function shortened(value: unknown, max: number): unknown {
  if (typeof value === 'string' || Array.isArray(value)) return value.slice(0, max);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([name]) => name.length <= max);
  return Object.fromEntries(members.slice(0, max));
}

/** The event data for a tracklist: all of it, or its first tracks. */
export function tracklistData(busName: string, json: string): string {
  const whole = `{"bus_name":${JSON.stringify(busName)},${json.slice(1)}`;
  return Buffer.byteLength(whole) <= DATA_MAX_BYTES ? whole : truncated(busName, JSON.parse(json));
}

function truncated(busName: string, { tracks, ...rest }: TracklistRecord): string {
  const head = JSON.stringify({ bus_name: busName, ...rest, truncated: true, tracks: [] });
  let roomBytes = DATA_MAX_BYTES - Buffer.byteLength(head);
  const firstTracks: string[] = [];
  for (const track of tracks) {
    const text = JSON.stringify(track);
    roomBytes -= Buffer.byteLength(text) + 1;
    if (roomBytes < 0) break;
    firstTracks.push(text);
  }
  // The tracks take the place of the empty list at the end of `head`.
  return `${head.slice(0, -']}'.length)}${firstTracks.join(',')}]}`;
}
