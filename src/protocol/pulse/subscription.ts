// Subscriptions: the mask that asks for events, and the word that an event says. Pure.

import { WireError } from './wire-error.js';

/** By the event's low four bits; a facility's mask bit is 1 << its place. */
const FACILITIES = [
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

export type Facility = (typeof FACILITIES)[number];
export type EventType = (typeof TYPES)[number];

/** A hint that something happened: the server merges and drops events, so what is true now must be asked for. */
export interface SubscriptionEvent {
  readonly facility: Facility;
  readonly type: EventType;
  /** Of the object; the server itself has none. */
  readonly index: number | undefined;
}

/** The mask that subscribes to exactly these facilities. */
export function maskOf(facilities: readonly Facility[]): number {
  return facilities.reduce((mask, facility) => mask | (1 << FACILITIES.indexOf(facility)), 0);
}

/** Sinks, sink inputs and the server. Everything else (each run of pactl is three client events) is noise here. */
export const AUDIO_MASK = maskOf(['sink', 'sink-input', 'server']);

export function decodeEvent(word: number, index: number | undefined): SubscriptionEvent {
  const facility = FACILITIES[word & FACILITY_BITS];
  // Unsigned shift: undefined high bits make an unknown type instead of being ignored.
  const type = TYPES[word >>> TYPE_SHIFT];
  if (facility === undefined || type === undefined) {
    throw new WireError(`an event of unknown kind 0x${word.toString(16)}`);
  }
  return { facility, type, index };
}
