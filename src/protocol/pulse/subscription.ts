// The events of a subscription: which are requested, and how their one word is decoded.

import { NONE, WireError } from './wire.js';

/** By the event's low four bits; a facility's mask bit is 1 << its index here. */
export const FACILITIES = [
  'sink',
  'source',
  'sink-input',
  'source-output',
  'module',
  'client',
  'sample-cache',
  'server',
  'autoload',
  'card',
] as const;

/** By bits 4 and 5. */
const TYPES = ['new', 'change', 'remove'] as const;

const FACILITY_BITS = 0x0f;
const TYPE_SHIFT = 4;

/**
 * A hint that something has changed: the server merges and drops events, so the present state must be read.
 */
export interface SubscriptionEvent {
  readonly facility: Facility;
  readonly type: (typeof TYPES)[number];
  /** The object's index; the server itself has none. */
  readonly index: number | undefined;
}

type Facility = (typeof FACILITIES)[number];

function maskOf(...facilities: readonly Facility[]): number {
  return facilities.reduce((mask, facility) => mask | (1 << FACILITIES.indexOf(facility)), 0);
}

/** Other events are noise here: each run of pactl makes three client events. */
export const AUDIO_MASK = maskOf('sink', 'source', 'sink-input', 'server', 'card');
/** Streams that read a source, of which only the levels of inputs need to know. */
export const CAPTURE_MASK = maskOf('source-output');

/** Decodes an event's word and index. Throws WireError for a word that no server may send. */
export function decodeEvent(word: number, object: number): SubscriptionEvent {
  const facility = FACILITIES[word & FACILITY_BITS];
  // Unsigned shift: undefined high bits make an unknown type instead of being ignored.
  const type = TYPES[word >>> TYPE_SHIFT];
  if (facility === undefined || type === undefined)
    throw new WireError(`an event of unknown kind 0x${word.toString(16)}`);
  return { facility, type, index: object === NONE ? undefined : object };
}
