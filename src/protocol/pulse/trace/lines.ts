// Decides what a line of a trace looks like, for people or as JSON. Characters that could control a terminal
// are escaped.

import type { AudioBlock, DecodedMessage, Side } from './conversation.js';
import type { Value } from './values.js';

/** The subject of a line: a command, a block of audio data, or a note about the connection. */
export type TraceItem =
  | ({ readonly from: Side } & DecodedMessage)
  | { readonly from: Side; readonly data: AudioBlock }
  | { readonly from?: Side; readonly note: string };

/** `seconds` is the time since the trace began. `connection` is 1 for the first connection. */
export type TraceLine = { readonly seconds: number; readonly connection: number } & TraceItem;

/**
 * A line for people has at most this many characters of a text. A line of JSON has the text as it was
 * decoded, cut only to TEXT_MAX_BYTES (text-cache.ts).
 */
const TEXT_MAX_CHARACTERS = 160;
/** The time has room for 9999 s, a point and six decimals. */
const TIME_COLUMNS = 11;
/**
 * Characters that a terminal may obey: controls, marks of direction, ends of lines, and characters without a
 * width. `JSON.stringify` escapes only the first 32 controls.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The escaped line is still JSON, because unprintable characters can stand only in its quoted texts. */
export function jsonLine(line: TraceLine): string {
  return escapeUnprintable(JSON.stringify(line, withoutEmptyLists));
}

/**
 * `JSON.stringify` calls this for each member, and leaves the member out if the result is undefined. The
 * lists `unnamed` and `declined` (`DecodedMessage`) are empty in most messages. Other empty lists stay.
 */
function withoutEmptyLists(key: string, value: unknown): unknown {
  const isUsuallyEmpty = key === 'unnamed' || key === 'declined';
  const isEmpty = Array.isArray(value) && value.length === 0;
  return isUsuallyEmpty && isEmpty ? undefined : value;
}

/** A line has the form `   0.070026 #1 < 2 REPLY GET_SINK_INFO index=0 name=living`. */
export function textLine(line: TraceLine): string {
  const time = line.seconds.toFixed(6).padStart(TIME_COLUMNS);
  return `${time} #${line.connection}${arrowOf(line.from)}${itemText(line)}`;
}

function arrowOf(from: Side | undefined): string {
  // A note about the whole connection comes from neither side.
  if (from === undefined) return ' ';
  return from === 'client' ? ' > ' : ' < ';
}

function itemText(item: TraceItem): string {
  if ('note' in item) return escapeUnprintable(item.note);
  if (!('data' in item)) return commandText(item);
  const { channel, offset, length, seek } = item.data;
  return `data${fieldsText({ channel, offset, length, seek })}`;
}

/** `unnamed` are values for which messages.ts has no name. `declined` are offers of shared memory. */
function commandText({ tag, command, answers, fields, unnamed, problem, declined }: DecodedMessage): string {
  const unnamedTexts = unnamed.map(({ type, value }) => `${type}:${valueText(value)}`);
  const parts = [
    `${tag ?? '-'} ${command}`,
    answers === undefined ? '' : ` ${answers}`,
    fieldsText(fields),
    unnamedTexts.length === 0 ? '' : ` unnamed=[${unnamedTexts.join(' ')}]`,
    declined.length === 0 ? '' : ` (declined: ${declined.join(', ')})`,
    problem === undefined ? '' : ` (${escapeUnprintable(problem)})`,
  ];
  return parts.join('');
}

function fieldsText(fields: Readonly<Record<string, Value | undefined>>): string {
  return Object.entries(fields)
    .map(([name, value]) => ` ${nameText(name)}=${valueText(value)}`)
    .join('');
}

function valueText(value: Value | undefined): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'string') return quotedIfUnclear(value);
  if (typeof value !== 'object') return `${value}`;
  if (Array.isArray(value)) return `[${value.map(valueText).join(' ')}]`;
  return `{${fieldsText(value as Readonly<Record<string, Value>>).trimStart()}}`;
}

/**
 * A text in quotes, unless it is one short word that begins with a letter. `5` and `a b` get quotes; `mono`
 * and `true` get none.
 */
function quotedIfUnclear(text: string): string {
  const isClear = /^[A-Za-z][\w.@:/-]*$/.test(text) && text.length <= TEXT_MAX_CHARACTERS;
  return isClear ? text : inQuotes(text);
}

/** The name of a field, or the key of a property. A client may choose any text as a key, such as `a b`. */
function nameText(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : inQuotes(name);
}

function inQuotes(text: string): string {
  const inside = escapeUnprintable(JSON.stringify(text.slice(0, TEXT_MAX_CHARACTERS)));
  return text.length > TEXT_MAX_CHARACTERS ? `${inside}...` : inside;
}

function escapeUnprintable(text: string): string {
  // A character beyond U+FFFF has two UTF-16 units, and JSON needs an escape for each of them.
  return text.replace(UNPRINTABLE, (char) => char.split('').map(escapedUnit).join(''));
}

function escapedUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
