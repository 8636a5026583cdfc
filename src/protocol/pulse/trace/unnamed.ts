// Values that are in no table: each carries its type on the wire, and is shown with that.

import { bool, excerpt, props, type Readable, s64, u8, u32, usec, volume, volumes } from '../fields.js';
import { Reader } from '../reader.js';
import type { TextCache } from '../text-cache.js';
import { describeTag, TAG, WireError } from '../wire.js';
import { encoding, positions, samples, secret, time, u64, type Value } from './kinds.js';

/** A value with only its type. */
export interface UnnamedValue {
  readonly type: string;
  readonly value: Value;
}

/** Values shown of one message, the first. */
const SHOWN_MAX = 64;

/** For bytes only their number is shown, because they may be a secret. */
const KINDS: ReadonlyMap<number | undefined, readonly [type: string, kind: Readable<unknown>]> = new Map([
  [TAG.text, ['text', excerpt]],
  [TAG.noText, ['text', excerpt]],
  [TAG.u32, ['u32', u32]],
  [TAG.u8, ['u8', u8]],
  [TAG.u64, ['u64', u64]],
  [TAG.s64, ['s64', s64]],
  [TAG.sampleSpec, ['sampleSpec', samples]],
  [TAG.bytes, ['bytes', secret]],
  [TAG.yes, ['bool', bool]],
  [TAG.no, ['bool', bool]],
  [TAG.time, ['time', time]],
  [TAG.usec, ['usec', usec]],
  [TAG.channelMap, ['channelMap', positions]],
  [TAG.volumes, ['volumes', volumes]],
  [TAG.volume, ['volume', volume]],
  [TAG.props, ['props', props]],
  [TAG.format, ['format', encoding]],
] as const);

/** The values in `bytes`, up to the first invalid one, which is given as the problem. */
export function unnamedIn(
  bytes: Uint8Array,
  version: number,
  texts: TextCache,
): { readonly unnamed: readonly UnnamedValue[]; readonly problem?: string } {
  const reader = new Reader(bytes, version, texts);
  const unnamed: UnnamedValue[] = [];
  while (!reader.atEnd) {
    const rest = reader.rest();
    const left = `${rest.length} bytes more`;
    if (unnamed.length === SHOWN_MAX) return { unnamed, problem: left };
    const [type, kind] = KINDS.get(rest[0]) ?? [];
    if (type === undefined || kind === undefined) {
      return { unnamed, problem: `${left}, from ${describeTag(rest[0])} on` };
    }
    try {
      // The kinds of ../fields.ts and ./kinds.ts return only JSON values.
      unnamed.push({ type, value: (kind.read(reader) ?? null) as Value });
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      return { unnamed, problem: `${left}, of which ${type} cannot be read` };
    }
  }
  return { unnamed };
}
