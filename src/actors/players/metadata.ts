// Turns a player's metadata into bounded texts, and into the few values that tonearm itself uses. A player is
// not trusted: a value may be of any type and size. Pure.

import { capped } from '../../printable.js';
import { NO_TRACK } from '../../protocol/dbus/mpris.js';
import { withoutPrototype } from '../text.js';

/** One value has at most this many UTF-16 units. A longer value is cut. */
const VALUE_MAX_UNITS = 4096;
const KEY_MAX_UNITS = 256;
const ENTRIES_MAX = 64;
/**
 * All keys and values together have at most this many UTF-16 units. An entry that no longer fits is left out.
 */
const TEXTS_MAX_UNITS = 32 * 1024;
/**
 * All keys and values together have at most this many bytes as JSON in UTF-8. This second bound is needed,
 * because one UTF-16 unit may take six bytes in JSON (`\u0001`), and the whole record must fit into one line
 * of the event stream.
 */
const TEXTS_MAX_BYTES = 80 * 1024;
/**
 * A longer URL of a cover is not kept, but read from the player at each request for the cover. Such a URL
 * usually contains the image.
 */
const KEPT_URL_MAX_UNITS = 8192;

/** An object path of D-Bus, such as `/` or `/org/videolan/vlc/playlist/7`. */
const OBJECT_PATH = /^\/(?:[A-Za-z0-9_]+(?:\/[A-Za-z0-9_]+)*)?$/;

export interface Metadata {
  /**
   * The values as texts, by sorted MPRIS keys. Long values are cut. Empty values, and entries beyond the
   * bounds, are left out.
   */
  readonly texts: Readonly<Record<string, string>>;
  /** The track's id for calls to the player; absent if the player names no usable id (`isTrackId`). */
  readonly trackId?: string;
  /** Absent if the length is unknown, or if the track is endless. */
  readonly lengthUs?: number;
  /** Absent if the player names no cover, or if the URL is too long to be kept. */
  readonly artUrl?: string;
  /** True if the cover's URL is too long to be kept. */
  readonly hasLongArtUrl: boolean;
}

export const NO_METADATA: Metadata = { texts: {}, hasLongArtUrl: false };

export function metadataOf(values: Readonly<Record<string, unknown>>): Metadata {
  const { 'mpris:trackid': id, 'mpris:length': length, 'mpris:artUrl': art } = values;
  const artUrl = typeof art === 'string' && art !== '' ? art : undefined;
  const isArtKept = artUrl !== undefined && artUrl.length <= KEPT_URL_MAX_UNITS;
  const isUsableId = typeof id === 'string' && isTrackId(id);
  const lengthUs = typeof length === 'number' ? Math.round(length) : 0;
  const isLengthKnown = lengthUs > 0 && Number.isSafeInteger(lengthUs);
  return {
    texts: textsOf(values),
    ...(isUsableId && { trackId: id }),
    ...(isLengthKnown && { lengthUs }),
    ...(isArtKept && { artUrl }),
    hasLongArtUrl: artUrl !== undefined && !isArtKept,
  };
}

/**
 * A new id or URL means a new track. Some players have no ids, or one id for all tracks. So a new title with
 * a new length means a new track, too. A new title with the same length does not, because a radio station
 * changes the title with each song.
 */
export function isSameTrack(a: Metadata, b: Metadata): boolean {
  const hasOtherTitle = a.texts['xesam:title'] !== b.texts['xesam:title'];
  const hasOtherLength = a.lengthUs !== b.lengthUs;
  if (hasOtherTitle && hasOtherLength) return false;
  return a.trackId === b.trackId && a.texts['xesam:url'] === b.texts['xesam:url'];
}

/** The id of a track is an object path that is not too long, and not `NO_TRACK`, which means no track. */
export function isTrackId(text: string): boolean {
  return text.length <= VALUE_MAX_UNITS && OBJECT_PATH.test(text) && text !== NO_TRACK;
}

/** The texts are sorted, because the same values in another order must not be a change. */
function textsOf(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const keys = Object.keys(values)
    .filter((key) => key.length <= KEY_MAX_UNITS)
    .sort()
    .slice(0, ENTRIES_MAX);
  let unitsLeft = TEXTS_MAX_UNITS;
  let bytesLeft = TEXTS_MAX_BYTES;
  const entries: [key: string, text: string][] = [];
  for (const key of keys) {
    const text = boundedText(key, values[key]);
    const units = key.length + text.length;
    const bytes = jsonBytes(key) + jsonBytes(text);
    const fits = units <= unitsLeft && bytes <= bytesLeft;
    if (text === '' || !fits) continue;
    unitsLeft -= units;
    bytesLeft -= bytes;
    entries.push([key, text]);
  }
  return withoutPrototype(entries);
}

/** The size of the text in JSON, with the colon or comma behind it. */
function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) + 1;
}

/**
 * Most images in a URL (`data:image/png;base64,...`) would be cut, and half of an image is useless. So only
 * the text up to the comma stays.
 */
function boundedText(key: string, value: unknown): string {
  const text = plainText(value);
  const hasImage = key === 'mpris:artUrl' && isDataUrl(text);
  const textWithoutImage = hasImage ? text.slice(0, text.indexOf(',') + 1) : text;
  return capped(textWithoutImage, VALUE_MAX_UNITS);
}

/** The scheme may be in upper or lower case (RFC 3986, section 3.1). */
export function isDataUrl(url: string): boolean {
  return /^data:/i.test(url);
}

/**
 * The first `ENTRIES_MAX` values of a list become one text with commas, bytes become '', and any other object
 * becomes JSON. JSON has no bigint, so a bigint in an object becomes a text.
 */
function plainText(value: unknown): string {
  if (Array.isArray(value)) return value.slice(0, ENTRIES_MAX).map(plainText).join(', ');
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Uint8Array) return '';
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner));
}
