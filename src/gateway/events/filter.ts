// Which events a stream wants, as one number: a bit per event type, a bit per backend. Equal filters are equal numbers,
// so streams that want the same share the same bytes. It may not know where a filter comes from.

import { BACKENDS, type Backend } from '../../protocol/actor/backends.js';
import { EVENT_TYPES, type EventType } from '../../protocol/actor/collections.js';

export type Filter = number;

/** The two bits that an event needs: its type's and its backend's. */
export function bitsOf(type: EventType, backend: Backend): number {
  return typeBit(type) | backendBit(backend);
}

export function filterOf(types: readonly EventType[], backends: readonly Backend[]): Filter {
  const typeBits = types.reduce((bits, type) => bits | typeBit(type), 0);
  return backends.reduce((bits, backend) => bits | backendBit(backend), typeBits);
}

export function accepts(filter: Filter, bits: number): boolean {
  return (filter & bits) === bits;
}

function typeBit(type: EventType): number {
  return 1 << EVENT_TYPES.indexOf(type);
}

function backendBit(backend: Backend): number {
  return 1 << (EVENT_TYPES.length + BACKENDS.indexOf(backend));
}
