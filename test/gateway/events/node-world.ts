// A node's true state and its history, as the hub hears of it: what tests compare consumers' states with.

import type { Occurrence, SnapshotSource } from '../../../src/gateway/events/occurrence.js';
import { BACKENDS, type Backend, type BackendState } from '../../../src/protocol/actor/backends.js';
import {
  type ActionEvent,
  COLLECTIONS,
  type Collection,
  type CollectionSpec,
} from '../../../src/protocol/actor/collections.js';
import { NamesHeld } from '../../consumer/names-held.js';
import { StateModel } from '../../consumer/state-model.js';

export class NodeWorld implements SnapshotSource {
  readonly #records = new Map<Collection, Map<string, string>>();
  readonly #names = new Map<Collection, Map<string, string>>();
  readonly #backends = new Map<Backend, BackendState>();
  /** How many actions have happened; each tells its number as `n`. */
  actions = 0;

  constructor() {
    for (const backend of BACKENDS) this.#backends.set(backend, 'connecting');
  }

  keys(collection: Collection): readonly string[] {
    return [...this.#shelf(collection).keys()];
  }

  /** The names of the live records, where they have any, by key. */
  names(collection: Collection): ReadonlyMap<string, string> {
    return this.#names.get(collection) ?? new Map();
  }

  put(collection: Collection, ...records: readonly (readonly [key: string, record: object])[]): Occurrence {
    const made = records.map(([key, record]) => ({ key, json: JSON.stringify(record) }));
    for (const { key, json } of made) this.#shelf(collection).set(key, json);
    const names = new Map(this.names(collection));
    for (const [key, record] of records) if ('name' in record) names.set(key, String(record.name));
    this.#names.set(collection, names);
    return this.#occurrence(collection, false, made);
  }

  drop(collection: Collection, ...keys: readonly string[]): Occurrence {
    const gone = keys.map((key) => ({ key, json: this.#shelf(collection).get(key) ?? '' }));
    for (const key of keys) this.#shelf(collection).delete(key);
    this.#names.set(collection, new Map([...this.names(collection)].filter(([key]) => !keys.includes(key))));
    return this.#occurrence(collection, true, gone);
  }

  backend(backend: Backend, state: BackendState): Occurrence {
    this.#backends.set(backend, state);
    return { kind: 'backend', backend, type: 'backend.updated', state };
  }

  action(type: ActionEvent, fields: object = {}): Occurrence {
    this.actions += 1;
    const backend = type === 'power.action' ? 'power' : 'upgrade';
    return { kind: 'action', backend, type, json: JSON.stringify({ n: this.actions, ...fields }) };
  }

  snapshot(): readonly Occurrence[] {
    return [...this.#backends].flatMap(([backend, state]): Occurrence[] => [
      { kind: 'backend', backend, type: 'backend.updated', state },
      ...[...this.#records]
        .filter(([collection, shelf]) => COLLECTIONS[collection].backend === backend && shelf.size > 0)
        .map(([collection, shelf]) =>
          this.#occurrence(
            collection,
            false,
            [...shelf].map(([key, json]) => ({ key, json })),
          ),
        ),
    ]);
  }

  /** What a consumer must hold. */
  truth(): object {
    const model = new StateModel();
    const tell = (type: string, texts: Iterable<string>): void => {
      for (const text of texts) model.apply({ type, data: text });
    };
    const listed = (collection: Collection): string[] => [
      `[${[...this.#shelf(collection).values()].join(',')}]`,
    ];
    tell(
      'backend.updated',
      [...this.#backends].map(([backend, state]) => JSON.stringify({ backend, state })),
    );
    tell('audio.updated', listed('audio.clients'));
    tell('audio.output.updated', listed('audio.outputs'));
    tell('service.updated', this.#shelf('systemd.services').values());
    tell('upgrade.info', this.#shelf('upgrade.status').values());
    tell('upgrade.info', this.#shelf('upgrade.run').values());
    return model.state();
  }

  /** What a consumer must hold that knows records by their names. */
  namesTruth(): object {
    const held = new NamesHeld();
    for (const [type, collection] of [
      ['audio.updated', 'audio.clients'],
      ['audio.output.updated', 'audio.outputs'],
    ] as const) {
      held.apply({ type, data: `[${[...this.#shelf(collection).values()].join(',')}]` });
    }
    return held.state();
  }

  #shelf(collection: Collection): Map<string, string> {
    const shelf = this.#records.get(collection) ?? new Map<string, string>();
    this.#records.set(collection, shelf);
    return shelf;
  }

  #occurrence(
    collection: Collection,
    removal: boolean,
    records: readonly { readonly key: string; readonly json: string }[],
  ): Occurrence {
    const spec: CollectionSpec = COLLECTIONS[collection];
    const type = removal ? spec.removed : spec.updated;
    if (type === undefined) throw new Error(`${collection} has no such event`);
    return { kind: 'records', backend: spec.backend, type, collection, removal, records };
  }
}
