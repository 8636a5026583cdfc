// Formats one line for each thing that happened on a connection, for people or as a JSON object. Texts are
// not trusted: characters that could control a terminal are escaped, and lines for people shorten long texts.

import type { Block, DecodedMessage, Side } from './conversation.js';
import type { Value } from './values.js';

/** A traced item: a command, a block of audio data, or a note about the connection. */
export type TraceItem =
  | ({ readonly from: Side } & DecodedMessage)
  | { readonly from: Side; readonly data: Block }
  | { readonly from?: Side; readonly note: string };

/** `seconds` since the trace began; connections count from 1. */
export type TraceLine = { readonly seconds: number; readonly connection: number } & TraceItem;

const TEXT_MAX_CHARS = 160;
const TIME_CHARS = 11;
/** Characters that a terminal may interpret but JSON leaves unescaped: C1 and marks of direction. */
const UNSHOWN = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

export function jsonLine(line: TraceLine): string {
  /** Lists that are usually empty, if they are. */
  const isVoid = (key: string, value: unknown): boolean =>
    ['unnamed', 'declined'].includes(key) && Array.isArray(value) && value.length === 0;
  return printable(JSON.stringify(line, (key, value: unknown) => (isVoid(key, value) ? undefined : value)));
}

export function textLine(line: TraceLine): string {
  const arrow = line.from === undefined ? ' ' : line.from === 'client' ? ' > ' : ' < ';
  const begin = `${line.seconds.toFixed(6).padStart(TIME_CHARS)} #${line.connection}${arrow}`;
  if ('note' in line) return `${begin}${printable(line.note)}`;
  return `${begin}${'data' in line ? `data${fieldsText({ ...line.data })}` : commandText(line)}`;
}

function commandText({ tag, command, answers, fields, unnamed, problem, declined }: DecodedMessage): string {
  const rest = unnamed.map(({ type, value }) => `${type}:${valueText(value)}`);
  const parts = [
    `${tag ?? '-'} ${command}`,
    answers === undefined ? '' : ` ${answers}`,
    fieldsText(fields),
    rest.length === 0 ? '' : ` unnamed=[${rest.join(' ')}]`,
    declined.length === 0 ? '' : ` (declined: ${declined.join(', ')})`,
    problem === undefined ? '' : ` (${printable(problem)})`,
  ];
  return parts.join('');
}

function fieldsText(fields: Readonly<Record<string, Value | undefined>>): string {
  return Object.entries(fields)
    .map(([name, value]) => ` ${bare(name)}=${valueText(value)}`)
    .join('');
}

function valueText(value: Value | undefined): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'string') return quotedIfUnclear(value);
  if (typeof value !== 'object') return `${value}`;
  if (Array.isArray(value)) return `[${value.map(valueText).join(' ')}]`;
  return `{${fieldsText(value as Readonly<Record<string, Value>>).trimStart()}}`;
}

/** Adds quotes if the text could be mistaken for something else. */
function quotedIfUnclear(text: string): string {
  return /^[A-Za-z][\w.@:/-]*$/.test(text) && text.length <= TEXT_MAX_CHARS ? text : inQuotes(text);
}

/** The key of a property, which a client chooses. */
const bare = (name: string): string => (/^[\w.-]+$/.test(name) ? name : inQuotes(name));

function inQuotes(text: string): string {
  const cut = text.length > TEXT_MAX_CHARS;
  const whole = printable(JSON.stringify(cut ? text.slice(0, TEXT_MAX_CHARS) : text));
  return cut ? `${whole}...` : whole;
}

function printable(text: string): string {
  return text.replace(UNSHOWN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
