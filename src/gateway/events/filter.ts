// Which events a stream wants, as one number: a bit per kind of event. Equal filters are equal numbers, so streams that want
// the same share the same bytes. It may not know where a filter comes from.

import { BACKENDS, type Backend } from '../../protocol/actor/backends.js';
import {
  ACTIONS,
  COLLECTIONS,
  type CollectionSpec,
  EVENT_TYPES,
  type EventType,
} from '../../protocol/actor/collections.js';

export type Filter = number;

type Kind = readonly [type: EventType, backend: Backend];

const SPECS: readonly CollectionSpec[] = Object.values(COLLECTIONS);
const ACTION_BACKENDS: Readonly<Partial<Record<EventType, Backend>>> = ACTIONS;

/** Every type is of one backend, but for `backend.updated`, which is of each; `server.info` is of none, and always sent. */
const KINDS: readonly Kind[] = EVENT_TYPES.flatMap((type) =>
  backendsOf(type).map((backend): Kind => [type, backend]),
);

/** The bit of an event. */
export function bitsOf(type: EventType, backend: Backend): number {
  return 1 << KINDS.findIndex((kind) => kind[0] === type && kind[1] === backend);
}

export function filterOf(wants: (type: EventType, backend: Backend) => boolean): Filter {
  return KINDS.reduce(
    (bits, [type, backend]) => (wants(type, backend) ? bits | bitsOf(type, backend) : bits),
    0,
  );
}

/** Lets in what is an action, and nothing else. */
export const ACTIONS_ONLY: Filter = filterOf((type) => type in ACTIONS);

export function accepts(filter: Filter, bits: number): boolean {
  return (filter & bits) !== 0;
}

function backendsOf(type: EventType): readonly Backend[] {
  if (type === 'backend.updated') return BACKENDS;
  const spec = SPECS.find(({ updated, removed }) => updated === type || removed === type);
  const owner = spec?.backend ?? ACTION_BACKENDS[type];
  return owner === undefined ? [] : [owner];
}
