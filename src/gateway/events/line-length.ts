// How long a line of the stream may be (docs/events.md, "Long lists"), and what a long tracklist becomes.
// Pure.

import type { TracklistRecord } from '../../protocol/actor/schemas.js';

/** Clients on aiohttp before 3.14 end a stream at a line above 128 KiB. */
const LINE_MAX_BYTES = 120 * 1024;
/** Beside the data: the field's name, the brackets of a list. */
const FIELD_BYTES = 'data: []'.length;
export const DATA_MAX_BYTES = LINE_MAX_BYTES - FIELD_BYTES;

/** The event data for a tracklist: all of it, or its first tracks. */
export function tracklistData(busName: string, json: string): string {
  const whole = `{"bus_name":${JSON.stringify(busName)},${json.slice(1)}`;
  return Buffer.byteLength(whole) <= DATA_MAX_BYTES ? whole : truncated(busName, JSON.parse(json));
}

function truncated(busName: string, { tracks, ...rest }: TracklistRecord): string {
  const head = JSON.stringify({ bus_name: busName, ...rest, truncated: true, tracks: [] });
  let left = DATA_MAX_BYTES - Buffer.byteLength(head);
  const kept: string[] = [];
  for (const track of tracks) {
    const text = JSON.stringify(track);
    left -= Buffer.byteLength(text) + 1;
    if (left < 0) break;
    kept.push(text);
  }
  return `${head.slice(0, -2)}${kept.join(',')}]}`;
}
