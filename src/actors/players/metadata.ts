// A track's metadata as a player tells it -> bounded texts, and what is needed of it besides. Pure. Players are strangers: any value
// may be of any type and of any size.

import { capped } from '../text.js';

/** UTF-16 units of one value; of a longer one the beginning. */
export const VALUE_MAX_UNITS = 4096;
const KEY_MAX_UNITS = 256;
const ENTRIES_MAX = 64;
/** UTF-16 units of all keys and values together; what would exceed it is left out. */
const ALL_MAX_UNITS = 32 * 1024;
/** A longer URL of a cover is not kept: it holds the image itself, and is asked for again when somebody wants that. */
const KEPT_URL_MAX_UNITS = 8192;

const OBJECT_PATH = /^\/(?:[A-Za-z0-9_]+(?:\/[A-Za-z0-9_]+)*)?$/;

/** The D-Bus path that says that there is no track. */
const NO_TRACK = '/org/mpris/MediaPlayer2/TrackList/NoTrack';

export interface Metadata {
  /** By MPRIS' own keys, sorted. */
  readonly texts: Readonly<Record<string, string>>;
  /** The track as the player wants to hear of it. */
  readonly trackId?: string;
  /** Microseconds; absent for a stream without end, or with one that nobody knows. */
  readonly lengthUs?: number;
  readonly artUrl?: string;
  /** There is one, too long to be kept. */
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

/** Whether both are of one track: a stream's title changes while it plays on. */
export function isSameTrack(a: Metadata, b: Metadata): boolean {
  return a.trackId === b.trackId && a.texts['xesam:url'] === b.texts['xesam:url'];
}

function isTrack(path: string): boolean {
  return path.length <= VALUE_MAX_UNITS && OBJECT_PATH.test(path) && path !== NO_TRACK;
}

/** In a fixed order, because a player may list the same values in another one and that is no change. */
function textsOf(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const keys = Object.keys(values)
    .filter((key) => key.length <= KEY_MAX_UNITS)
    .sort()
    .slice(0, ENTRIES_MAX);
  let left = ALL_MAX_UNITS;
  const texts = keys.map((key): [string, string] => [key, shownText(key, values[key])]);
  return Object.fromEntries(
    texts.filter(([key, text]) => {
      const units = key.length + text.length;
      if (text === '' || units > left) return false;
      left -= units;
      return true;
    }),
  );
}

/** Of an image that is written into its URL only what it is: half of one is of no use to anybody. */
function shownText(key: string, value: unknown): string {
  const text = plainText(value);
  if (key === 'mpris:artUrl' && isDataUrl(text))
    return capped(text.slice(0, text.indexOf(',') + 1), VALUE_MAX_UNITS);
  return capped(text, VALUE_MAX_UNITS);
}

/** Schemes are written in any case (RFC 3986, 3.1). */
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
