// The wire format of the event stream: texts in, bytes out (HTML standard, 9.2.5). It may not know streams, filters or state.

import type { EventType } from '../../protocol/actor/collections.js';

/** A restart must not bring every client back in the same moment, so each stream is told a time of its own. */
const RETRY_MS_MIN = 2000;
const RETRY_MS_MAX = 5000;

const LINE_END = /\r\n|\r|\n/;
const EVERY_LINE_END = /\r\n|\r|\n/g;
const BOOT = /^[A-Za-z0-9_-]{1,64}$/;
const REACHED = /^(0|[1-9]\d{0,14})(?:\.(0|[1-9]\d{0,14}))?$/;

export const BYE = encode(frame('server.info', '"bye"'));

/** The first bytes of a stream. `chance` is 0 <= chance < 1. */
export function hello(chance: number): Uint8Array {
  const retryMs = RETRY_MS_MIN + Math.floor(chance * (RETRY_MS_MAX - RETRY_MS_MIN + 1));
  return encode(`retry: ${retryMs}\n${frame('server.info', '"connected"')}`);
}

/** Breaks a silence. Its id tells those who want little how far they have come without hearing anything. */
export function love(boot: string, newest: number): Uint8Array {
  return encode(frame('server.info', '"love"', newest === NO_SEQUENCE ? undefined : eventId(boot, newest)));
}

/**
 * One event as the stream spells it. `data` is JSON. A line end in it can only be white space between tokens (within a
 * JSON string it is an error), so each line becomes a `data` line of its own: whatever an actor relays, it cannot end
 * the event, add a field or start another event.
 */
export function frame(type: EventType, data: string, id?: string): string {
  const safe = LINE_END.test(data) ? data.replace(EVERY_LINE_END, '\ndata: ') : data;
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${safe}\n\n`;
}

/** The data of an event that says `records`: the JSON array of all, or the one that there is. */
export function dataOf(listed: boolean, records: readonly { readonly json: string }[]): string {
  return listed ? `[${records.map(({ json }) => json).join(',')}]` : (records[0]?.json ?? '');
}

/** UTF-8. Half a surrogate becomes U+FFFD: a browser would replace ill-formed bytes itself, stricter clients would fail. */
export function encode(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}

/** Sequence numbers begin at 1: a client that has reached this one has no state that could be continued. */
export const NO_SEQUENCE = 0;

/**
 * Up to which events a client has been told everything, as sequence numbers. The two differ only while it has a part of a
 * snapshot: coming back it is given a snapshot again, but no action twice.
 */
export interface ReachedEvents {
  readonly states: number;
  readonly actions: number;
}

/** An event's id. It tells the daemon's lives apart, so that a sequence number of an earlier one is never believed. */
export function eventId(boot: string, states: number, actions = states): string {
  return states === actions ? `${boot}-${states}` : `${boot}-${states}.${actions}`;
}

/** What the client has reached that gives `id`; undefined when it is not one of this boot's. */
export function reachedIn(id: string, boot: string): ReachedEvents | undefined {
  if (!id.startsWith(`${boot}-`)) return undefined;
  const [, states, actions = states] = REACHED.exec(id.slice(boot.length + 1)) ?? [];
  return states === undefined ? undefined : { states: Number(states), actions: Number(actions) };
}

/** Throws a TypeError on a boot name that could not stand in an `id` field and in a header. */
export function checkBoot(boot: string): string {
  if (!BOOT.test(boot)) throw new TypeError(`not fit for an event id: ${JSON.stringify(boot)}`);
  return boot;
}
