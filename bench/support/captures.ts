// Gives lists of sink inputs to decode: captured ones of a real server, and longer ones, which are composed
// of the records of a captured list.

import { readFileSync } from 'node:fs';
import { recordStarts } from './record-starts.js';

/** The lengths of the captured lists, which both servers have. */
const CAPTURED = [1, 30, 150];
const HEADER_BYTES = 20;
/** Bytes at the beginning of the payload: command and tag of the reply. */
const BEGINNING_BYTES = 10;
/** Offset of the index in a record, behind the byte of its type. */
const INDEX_AT = 1;
const CHUNK_BYTES = 64;
const MOST_CAPTURED = 150;

export interface List {
  readonly server: 'pulse' | 'pipewire';
  readonly count: number;
  /** The whole frame. */
  readonly bytes: Buffer;
}

function captured(server: List['server'], count: number): Buffer {
  return readFileSync(new URL(`../../../test/golden/${server}-sink-inputs-${count}.bin`, import.meta.url));
}

export function listOf(server: List['server'], count: number): List {
  if (CAPTURED.includes(count)) return { server, count, bytes: captured(server, count) };
  const frame = captured(server, MOST_CAPTURED);
  const payload = frame.subarray(HEADER_BYTES);
  const starts = recordStarts(payload);
  const records = Array.from({ length: count }, (_, at) => {
    const from = at % starts.length;
    const record = Buffer.from(payload.subarray(starts[from], starts[from + 1]));
    record.writeUInt32BE(at, INDEX_AT);
    return record;
  });
  const bytes = Buffer.concat([frame.subarray(0, HEADER_BYTES + BEGINNING_BYTES), ...records]);
  bytes.writeUInt32BE(bytes.length - HEADER_BYTES, 0);
  return { server, count, bytes };
}

/**
 * The same list after one property of each stream has got another name: `application.name` becomes
 * `Application.name`, which is as long.
 */
export function changed({ bytes, ...list }: List): List {
  const other = Buffer.from(bytes);
  const key = 'application.name';
  for (let at = other.indexOf(key); at >= 0; at = other.indexOf(key, at + 1)) other[at] = 'A'.charCodeAt(0);
  return { ...list, bytes: other };
}

export function chunksOf(bytes: Buffer): readonly Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / CHUNK_BYTES) }, (_, at) =>
    bytes.subarray(at * CHUNK_BYTES, (at + 1) * CHUNK_BYTES),
  );
}
