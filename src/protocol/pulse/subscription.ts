// Decides which events the sound server shall send, and what an event means.

import { NONE, WireError } from './wire.js';

/**
 * The kinds of objects. The low four bits of an event's word are an index in this list: 0x12 is a change (1)
 * of a sink input (2). The mask of a subscription has a bit for each kind: 0x05 has bits 0 and 2, for sinks
 * and sink inputs.
 */
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

/** The kinds of changes. Bits 4 and 5 of an event's word are an index in this list. */
const TYPES = ['new', 'change', 'remove'] as const;

const FACILITY_BITS = 0x0f;
const TYPE_SHIFT = 4;

/**
 * A hint that something has changed. The server merges and drops events, so the state itself must be read.
 */
export interface SubscriptionEvent {
  readonly facility: Facility;
  readonly type: (typeof TYPES)[number];
  /** The object's index; undefined for the server, which has none. */
  readonly index: number | undefined;
}

type Facility = (typeof FACILITIES)[number];

function maskOf(...facilities: readonly Facility[]): number {
  let mask = 0;
  for (const facility of facilities) mask |= 1 << FACILITIES.indexOf(facility);
  return mask;
}

/** The events that records need. Other events cost time: each run of pactl makes three `client` events. */
export const AUDIO_MASK = maskOf('sink', 'source', 'sink-input', 'server', 'card');
/** The events of streams that capture a source. Only the levels of inputs need them. */
export const CAPTURE_MASK = maskOf('source-output');

/** Decodes an event's word and index. Throws WireError for a word that no server may send. */
export function decodeEvent(word: number, objectIndex: number): SubscriptionEvent {
  const facility = FACILITIES[word & FACILITY_BITS];
  // The bits above the type are not masked away, so that a word with unknown bits is refused.
  const type = TYPES[word >>> TYPE_SHIFT];
  if (facility === undefined || type === undefined)
    throw new WireError(`an event of unknown kind 0x${word.toString(16)}`);
  return { facility, type, index: objectIndex === NONE ? undefined : objectIndex };
}
