// Turns a player's metadata into bounded texts and the values used here. Pure. Players are not trusted: a
// value may be of any type and size.

import { NO_TRACK } from '../../protocol/dbus/mpris.js';
import { capped, withoutPrototype } from '../text.js';

/** UTF-16 units of one value; a longer one is cut. */
const VALUE_MAX_UNITS = 4096;
const KEY_MAX_UNITS = 256;
const ENTRIES_MAX = 64;
/** UTF-16 units of all keys and values together; entries beyond it are left out. */
const ALL_MAX_UNITS = 32 * 1024;
/**
 * The same bound for the JSON of all keys and values in UTF-8, where a unit may take six bytes: a line of the
 * event stream must have room for the whole record.
 */
const ALL_MAX_BYTES = 80 * 1024;
/** A longer cover URL contains the image itself; it is not kept, but read again when a client requests it. */
const KEPT_URL_MAX_UNITS = 8192;

const OBJECT_PATH = /^\/(?:[A-Za-z0-9_]+(?:\/[A-Za-z0-9_]+)*)?$/;

export interface Metadata {
  /** By MPRIS keys, sorted. */
  readonly texts: Readonly<Record<string, string>>;
  /** The track's id in calls to the player. */
  readonly trackId?: string;
  /** Microseconds; absent for an endless stream, or an unknown length. */
  readonly lengthUs?: number;
  readonly artUrl?: string;
  readonly hasLongArtUrl: boolean;
}

export const NO_METADATA: Metadata = { texts: {}, hasLongArtUrl: false };

export function metadataOf(values: Readonly<Record<string, unknown>>): Metadata {
  const { 'mpris:trackid': track, 'mpris:length': length, 'mpris:artUrl': art } = values;
  const hasArt = typeof art === 'string' && art !== '';
  const lengthUs = typeof length === 'number' ? Math.round(length) : 0;
  const isKept = hasArt && art.length <= KEPT_URL_MAX_UNITS;
  return {
    texts: textsOf(values),
    ...(typeof track === 'string' && isTrack(track) && { trackId: track }),
    ...(lengthUs > 0 && Number.isSafeInteger(lengthUs) && { lengthUs }),
    ...(isKept && { artUrl: art }),
    hasLongArtUrl: hasArt && !isKept,
  };
}

/**
 * True if both belong to the same track. The title of a stream changes while the track stays the same. Some
 * players have no ids, or the same id for all tracks: their next track has another title and another length.
 */
export function isSameTrack(a: Metadata, b: Metadata): boolean {
  const hasOtherTitle = a.texts['xesam:title'] !== b.texts['xesam:title'];
  if (hasOtherTitle && a.lengthUs !== b.lengthUs) return false;
  return a.trackId === b.trackId && a.texts['xesam:url'] === b.texts['xesam:url'];
}

export function isTrack(path: string): boolean {
  return path.length <= VALUE_MAX_UNITS && OBJECT_PATH.test(path) && path !== NO_TRACK;
}

/** Keys are sorted: a player may list the same values in another order, and that is no change. */
function textsOf(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const keys = Object.keys(values)
    .filter((key) => key.length <= KEY_MAX_UNITS)
    .sort()
    .slice(0, ENTRIES_MAX);
  let leftUnits = ALL_MAX_UNITS;
  let leftBytes = ALL_MAX_BYTES;
  const texts = keys.map((key): [string, string] => [key, boundedText(key, values[key])]);
  const kept = texts.filter(([key, text]) => {
    const units = key.length + text.length;
    const bytes = jsonBytes(key) + jsonBytes(text);
    if (text === '' || units > leftUnits || bytes > leftBytes) return false;
    leftUnits -= units;
    leftBytes -= bytes;
    return true;
  });
  return withoutPrototype(kept);
}

/** Bytes of a text in JSON, with a colon or comma behind it. */
function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) + 1;
}

/** An embedded image is reduced to the start of its URL, because half an image is useless. */
function boundedText(key: string, value: unknown): string {
  const text = plainText(value);
  if (key === 'mpris:artUrl' && isDataUrl(text))
    return capped(text.slice(0, text.indexOf(',') + 1), VALUE_MAX_UNITS);
  return capped(text, VALUE_MAX_UNITS);
}

/** Schemes may be written in any case (RFC 3986, 3.1). */
export function isDataUrl(url: string): boolean {
  return /^data:/i.test(url);
}

function plainText(value: unknown): string {
  if (Array.isArray(value)) return value.slice(0, ENTRIES_MAX).map(plainText).join(', ');
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Uint8Array) return '';
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner));
}
