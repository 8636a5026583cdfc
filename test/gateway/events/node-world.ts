// A node's true state, and the changes that lead to it. Tests compare the states of consumers with it.

import { BACKENDS, type Backend, type BackendState } from '../../../src/protocol/actor/backends.js';
import type { Collection } from '../../../src/protocol/actor/collections.js';
import type { Change } from '../../../src/protocol/actor/messages.js';
import { NamesHeld } from '../../consumer/names-held.js';
import { StateModel } from '../../consumer/state-model.js';

/** A client or an output. */
type Identified = { readonly id: number; readonly [field: string]: unknown };

export class NodeWorld {
  readonly #records = new Map<Collection, Map<string, string>>();
  readonly #names = new Map<Collection, Map<string, string>>();
  readonly #backends = new Map<Backend, BackendState>();
  /** The number of actions so far; each action carries its own number as `n`. */
  actions = 0;

  /** Every backend is connecting. */
  beginning(): readonly Change[] {
    return BACKENDS.flatMap((backend) => this.backend(backend, 'connecting'));
  }

  keys(collection: Collection): readonly string[] {
    return [...this.#texts(collection).keys()];
  }

  /** The names of the live records, where they have any, by key. */
  names(collection: Collection): ReadonlyMap<string, string> {
    return this.#names.get(collection) ?? new Map();
  }

  put(
    collection: Collection,
    ...records: readonly (readonly [key: string, record: object])[]
  ): readonly Change[] {
    const texts = new Map(records.map(([key, record]) => [key, JSON.stringify(record)]));
    for (const [key, json] of texts) this.#texts(collection).set(key, json);
    const names = new Map(this.names(collection));
    for (const [key, record] of records) if ('name' in record) names.set(key, String(record.name));
    this.#names.set(collection, names);
    return [...texts].map(([key, json]) => ({ kind: 'put', collection, key, json }));
  }

  clients(...records: readonly Identified[]): readonly Change[] {
    return this.put('audio.clients', ...records.map((record) => [String(record.id), record] as const));
  }

  outputs(...records: readonly Identified[]): readonly Change[] {
    return this.put('audio.outputs', ...records.map((record) => [String(record.id), record] as const));
  }

  drop(collection: Collection, ...keys: readonly string[]): readonly Change[] {
    for (const key of keys) this.#texts(collection).delete(key);
    this.#names.set(collection, new Map([...this.names(collection)].filter(([key]) => !keys.includes(key))));
    return keys.map((key) => ({ kind: 'drop', collection, key }));
  }

  backend(backend: Backend, state: BackendState, detail?: string): readonly Change[] {
    this.#backends.set(backend, state);
    const json = JSON.stringify({ backend, state, since: 0, restarts: 0, detail });
    return [{ kind: 'put', collection: 'backends', key: backend, json }];
  }

  action(collection: 'power.action' | 'upgrade.progress', fields: object = {}): readonly Change[] {
    this.actions += 1;
    return [{ kind: 'put', collection, key: '', json: JSON.stringify({ n: this.actions, ...fields }) }];
  }

  /** The state that a consumer must hold. */
  truth(): object {
    const model = new StateModel();
    const tell = (type: string, texts: Iterable<string>): void => {
      for (const text of texts) model.apply({ type, data: text });
    };
    const listed = (collection: Collection): string[] => [
      `[${[...this.#texts(collection).values()].join(',')}]`,
    ];
    tell(
      'backend.updated',
      [...this.#backends].map(([backend, state]) => JSON.stringify({ backend, state })),
    );
    tell('audio.updated', listed('audio.clients'));
    tell('audio.output.updated', listed('audio.outputs'));
    tell('service.updated', this.#texts('systemd.services').values());
    tell('upgrade.info', this.#texts('upgrade.info').values());
    return model.state();
  }

  /** The state that a consumer must hold if it identifies records by name. */
  namesTruth(): object {
    const held = new NamesHeld();
    for (const [type, collection] of [
      ['audio.updated', 'audio.clients'],
      ['audio.output.updated', 'audio.outputs'],
    ] as const) {
      held.apply({ type, data: `[${[...this.#texts(collection).values()].join(',')}]` });
    }
    return held.state();
  }

  #texts(collection: Collection): Map<string, string> {
    const texts = this.#records.get(collection) ?? new Map<string, string>();
    this.#records.set(collection, texts);
    return texts;
  }
}
