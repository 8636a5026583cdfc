// What a consumer holds that knows clients and outputs by their names, as the clients that exist already do (docs/http-api.md, "Names of
// clients"): an update puts a name, a removal takes it away, whatever the ids are.

import type { StreamedEvent } from './state-model.js';

type Named = Readonly<Record<string, unknown>>;

/** The events of named records: what each does with them. */
const RULES: Readonly<Record<string, readonly [collection: 'clients' | 'outputs', removal: boolean]>> = {
  'audio.updated': ['clients', false],
  'audio.removed': ['clients', true],
  'audio.output.updated': ['outputs', false],
  'audio.output.removed': ['outputs', true],
};

export class NamesHeld {
  readonly #heedsMarks: boolean;
  readonly #collections = { clients: new Map<string, Named>(), outputs: new Map<string, Named>() };

  /** Clients from before there were marks of snapshots do not heed them. */
  constructor(heedsMarks = true) {
    this.#heedsMarks = heedsMarks;
  }

  apply({ type, data }: StreamedEvent): void {
    const rule = RULES[type];
    if (rule !== undefined) {
      const [collection, removal] = rule;
      for (const record of JSON.parse(data) as readonly Named[]) {
        const name = String(record['name']);
        if (removal) this.#collections[collection].delete(name);
        else this.#collections[collection].set(name, record);
      }
    } else if (type === 'backend.updated' && this.#heedsMarks) {
      const { backend, detail } = JSON.parse(data) as Named;
      if (backend === 'audio' && detail === 'snapshot') this.clear();
    }
  }

  clear(): void {
    this.#collections.clients.clear();
    this.#collections.outputs.clear();
  }

  /** Plain and in a fixed order, to be compared with the truth. */
  state(): object {
    const { clients, outputs } = this.#collections;
    return {
      clients: Object.fromEntries([...clients].sort()),
      outputs: Object.fromEntries([...outputs].sort()),
    };
  }
}
