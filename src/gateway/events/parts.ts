// From an occurrence to the contents of its events, before they have a place in the stream. Pure; it frames nothing.

import type { Backend } from '../../protocol/actor/backends.js';
import {
  COLLECTIONS,
  type Collection,
  type CollectionSpec,
  type EventType,
} from '../../protocol/actor/collections.js';
import type { MirrorRecord, Occurrence } from './occurrence.js';

type BackendOccurrence = Extract<Occurrence, { readonly kind: 'backend' }>;

/** A longer list becomes several events, so that no frame is much larger than this and one record. In UTF-16 units. */
const LIST_LENGTH_MAX = 128 * 1024;

/** What one event says of one thing. `slot` names the thing for conflation; without it the item is never conflated. */
export interface Item {
  readonly slot?: string;
  /** The last word on the thing: what comes under its slot afterwards is another one. */
  readonly removal?: boolean;
  readonly json: string;
}

/** The content of one event. `listed`: data is the JSON array of all items; else there is exactly one item. */
export interface Part {
  readonly type: EventType;
  readonly backend: Backend;
  readonly listed: boolean;
  readonly items: readonly Item[];
}

export function partsOf(occurrence: Occurrence): readonly Part[] {
  const { backend, type } = occurrence;
  switch (occurrence.kind) {
    case 'action':
      return [{ type, backend, listed: false, items: [{ json: occurrence.json }] }];
    case 'backend':
      return [backendPart(occurrence, `backend/${backend}`)];
    case 'records': {
      const { collection, records, removal } = occurrence;
      const spec: CollectionSpec = COLLECTIONS[collection];
      const listed = spec.shape === 'list';
      const groups = listed ? lists(records) : records.map((record) => [record]);
      return groups.map((group) => ({
        type,
        backend,
        listed,
        items: group.map(({ key, json }) => ({ slot: slotOf(collection, key), removal, json })),
      }));
    }
  }
}

/** The state of a backend, which has no actor to encode it. `detail` is left out where there is none. */
export function backendPart({ type, backend, state, detail }: BackendOccurrence, slot: string): Part {
  return {
    type,
    backend,
    listed: false,
    items: [{ slot, json: JSON.stringify({ backend, state, detail }) }],
  };
}

/** Names a record across collections; no collection's name holds a slash. */
export function slotOf(collection: Collection, key: string): string {
  return `${collection}/${key}`;
}

/** The data of an event that carries `texts`. */
export function dataOf(listed: boolean, texts: readonly string[]): string {
  return listed ? `[${texts.join(',')}]` : (texts[0] ?? '');
}

function lists(records: readonly MirrorRecord[]): readonly MirrorRecord[][] {
  const groups: MirrorRecord[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const record of records) {
    if (length + record.json.length > LIST_LENGTH_MAX) {
      groups.push([]);
      length = 0;
    }
    groups.at(-1)?.push(record);
    length += record.json.length;
  }
  return groups;
}
