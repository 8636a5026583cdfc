// Turns a player's metadata into bounded texts, and into the few values that tonearm itself uses. Players are
// not trusted: a value may be of any type and size. Pure.

import { NO_TRACK } from '../../protocol/dbus/mpris.js';
import { capped, withoutPrototype } from '../text.js';

/** UTF-16 units of one value; a longer one is cut. */
const VALUE_MAX_UNITS = 4096;
const KEY_MAX_UNITS = 256;
const ENTRIES_MAX = 64;
/** UTF-16 units of all keys and values together. Further entries are left out. */
const ALL_MAX_UNITS = 32 * 1024;
/**
 * Bytes of all keys and values as JSON in UTF-8, because the whole record must fit into one line of the event
 * stream. One UTF-16 unit may take six bytes there.
 */
const ALL_MAX_BYTES = 80 * 1024;
/** A longer URL of a cover contains the image. It is not kept, but read for each request of the cover. */
const KEPT_URL_MAX_UNITS = 8192;

const OBJECT_PATH = /^\/(?:[A-Za-z0-9_]+(?:\/[A-Za-z0-9_]+)*)?$/;

export interface Metadata {
  /** The values as texts, by MPRIS keys, sorted, as far as they fit into the bounds. */
  readonly texts: Readonly<Record<string, string>>;
  /** The track's id for calls to the player; absent if the player gives no valid one. */
  readonly trackId?: string;
  /** Absent for an endless stream, and if the length is unknown. */
  readonly lengthUs?: number;
  /** The cover's URL; absent if there is none, or a long one. */
  readonly artUrl?: string;
  /** True if the player names a cover by a URL that is too long to be kept. */
  readonly hasLongArtUrl: boolean;
}

export const NO_METADATA: Metadata = { texts: {}, hasLongArtUrl: false };

export function metadataOf(values: Readonly<Record<string, unknown>>): Metadata {
  const { 'mpris:trackid': track, 'mpris:length': length, 'mpris:artUrl': art } = values;
  const hasArt = typeof art === 'string' && art !== '';
  const lengthUs = typeof length === 'number' ? Math.round(length) : 0;
  const isArtKept = hasArt && art.length <= KEPT_URL_MAX_UNITS;
  return {
    texts: textsOf(values),
    ...(typeof track === 'string' && isTrackId(track) && { trackId: track }),
    ...(lengthUs > 0 && Number.isSafeInteger(lengthUs) && { lengthUs }),
    ...(isArtKept && { artUrl: art }),
    hasLongArtUrl: hasArt && !isArtKept,
  };
}

/**
 * True if both belong to the same track. Another title alone is no other track, because the title of a radio
 * stream changes with each song. Another title with another length is another track, because some players
 * have no ids, or the same id for all tracks.
 */
export function isSameTrack(a: Metadata, b: Metadata): boolean {
  const hasOtherTitle = a.texts['xesam:title'] !== b.texts['xesam:title'];
  const hasOtherLength = a.lengthUs !== b.lengthUs;
  if (hasOtherTitle && hasOtherLength) return false;
  return a.trackId === b.trackId && a.texts['xesam:url'] === b.texts['xesam:url'];
}

/** True for the id of a track, which is an object path; false for the id that means no track. */
export function isTrackId(text: string): boolean {
  return text.length <= VALUE_MAX_UNITS && OBJECT_PATH.test(text) && text !== NO_TRACK;
}

/** The entries that fit into the bounds, sorted, so that another order of the same values is no change. */
function textsOf(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const keys = Object.keys(values)
    .filter((key) => key.length <= KEY_MAX_UNITS)
    .sort()
    .slice(0, ENTRIES_MAX);
  let unitsLeft = ALL_MAX_UNITS;
  let bytesLeft = ALL_MAX_BYTES;
  const kept: [key: string, text: string][] = [];
  for (const key of keys) {
    const text = boundedText(key, values[key]);
    const units = key.length + text.length;
    const bytes = jsonBytes(key) + jsonBytes(text);
    const fits = units <= unitsLeft && bytes <= bytesLeft;
    if (text === '' || !fits) continue;
    unitsLeft -= units;
    bytesLeft -= bytes;
    kept.push([key, text]);
  }
  return withoutPrototype(kept);
}

/** Bytes of a text in JSON, with the colon or comma behind it. */
function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) + 1;
}

/** The value as a text that is not too long. An image in a URL is left out, because half of it is useless. */
function boundedText(key: string, value: unknown): string {
  const text = plainText(value);
  if (key === 'mpris:artUrl' && isDataUrl(text))
    return capped(text.slice(0, text.indexOf(',') + 1), VALUE_MAX_UNITS);
  return capped(text, VALUE_MAX_UNITS);
}

/** A scheme may be written in upper or lower case (RFC 3986, section 3.1). */
export function isDataUrl(url: string): boolean {
  return /^data:/i.test(url);
}

/** A list becomes a text with commas, any other object becomes JSON, and bytes become ''. */
function plainText(value: unknown): string {
  if (Array.isArray(value)) return value.slice(0, ENTRIES_MAX).map(plainText).join(', ');
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Uint8Array) return '';
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner));
}
