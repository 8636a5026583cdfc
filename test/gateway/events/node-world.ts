// A node's true state, and the changes that lead to it. Tests compare the true state with the states of
// consumers.

import { BACKENDS, type Backend, type BackendState } from '../../../src/protocol/actor/backends.js';
import type { Collection } from '../../../src/protocol/actor/collections.js';
import type { Change } from '../../../src/protocol/actor/messages.js';
import { NameModel, StateModel } from '../../consumer/state-model.js';

/** A client or an output. */
type Identified = { readonly id: number; readonly [field: string]: unknown };

export class NodeWorld {
  readonly #records = new Map<Collection, Map<string, object>>();
  readonly #backends = new Map<Backend, BackendState>();
  /** The number of actions so far; each action carries its own number as `n`. */
  actions = 0;

  /** The first changes: every backend is connecting. */
  allConnecting(): readonly Change[] {
    return BACKENDS.flatMap((backend) => this.backend(backend, 'connecting'));
  }

  /** The live records by key. */
  records(collection: Collection): Map<string, object> {
    const records = this.#records.get(collection) ?? new Map<string, object>();
    this.#records.set(collection, records);
    return records;
  }

  put(
    collection: Collection,
    ...records: readonly (readonly [key: string, record: object])[]
  ): readonly Change[] {
    for (const [key, record] of records) this.records(collection).set(key, record);
    return records.map(([key, record]) => ({ kind: 'put', collection, key, json: JSON.stringify(record) }));
  }

  putClients(...records: readonly Identified[]): readonly Change[] {
    return this.put('audio.clients', ...records.map((record) => [String(record.id), record] as const));
  }

  putOutputs(...records: readonly Identified[]): readonly Change[] {
    return this.put('audio.outputs', ...records.map((record) => [String(record.id), record] as const));
  }

  drop(collection: Collection, ...keys: readonly string[]): readonly Change[] {
    for (const key of keys) this.records(collection).delete(key);
    return keys.map((key) => ({ kind: 'drop', collection, key }));
  }

  backend(name: Backend, state: BackendState, detail?: string): readonly Change[] {
    this.#backends.set(name, state);
    const json = JSON.stringify({ backend: name, state, since: 0, restarts: 0, detail });
    return [{ kind: 'put', collection: 'backends', key: name, json }];
  }

  action(collection: 'power.action' | 'upgrade.progress', fields: object = {}): readonly Change[] {
    this.actions += 1;
    return [{ kind: 'put', collection, key: '', json: JSON.stringify({ n: this.actions, ...fields }) }];
  }

  /**
   * The state that a consumer must have. One event has all clients, and another has all outputs. Each other
   * record has an event of its own.
   */
  expectedState(): object {
    return this.#stateAfter(new StateModel(), {
      'backend.updated': [...this.#backends].map(([backend, state]) => ({ backend, state })),
      'audio.updated': [this.#recordList('audio.clients')],
      'audio.output.updated': [this.#recordList('audio.outputs')],
      'service.updated': this.#recordList('systemd.services'),
      'upgrade.info': this.#recordList('upgrade.info'),
    });
  }

  /** The state that a consumer must have if it identifies records by name. */
  expectedStateByName(): object {
    return this.#stateAfter(new NameModel(), {
      'audio.updated': [this.#recordList('audio.clients')],
      'audio.output.updated': [this.#recordList('audio.outputs')],
    });
  }

  /**
   * The state of the model after some events. `dataByType` lists, for each type, the data of each event. The
   * data of an event `audio.updated` or `audio.output.updated` is itself a list of records.
   */
  #stateAfter(
    model: StateModel | NameModel,
    dataByType: Readonly<Record<string, readonly unknown[]>>,
  ): object {
    for (const [type, dataOfEvents] of Object.entries(dataByType))
      for (const data of dataOfEvents) model.apply({ type, data: JSON.stringify(data) });
    return model.state();
  }

  #recordList(collection: Collection): readonly object[] {
    return [...this.records(collection).values()];
  }
}
