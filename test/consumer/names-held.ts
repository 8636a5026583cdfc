// The state of a consumer that identifies clients and outputs by name, as existing clients do (docs/http-api.md, "Names of
// clients"): an update sets a name, a removal deletes it, and the ids do not matter.

import type { StreamedEvent } from './state-model.js';

type Named = Readonly<Record<string, unknown>>;

/** The events with named records: the collection that each changes, and whether it removes. */
const RULES: Readonly<Record<string, readonly [collection: 'clients' | 'outputs', removal: boolean]>> = {
  'audio.updated': ['clients', false],
  'audio.removed': ['clients', true],
  'audio.output.updated': ['outputs', false],
  'audio.output.removed': ['outputs', true],
};

export class NamesHeld {
  readonly #heedsMarks: boolean;
  readonly #collections = { clients: new Map<string, Named>(), outputs: new Map<string, Named>() };

  /** Older clients, from before snapshots had marks, ignore the marks. */
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

  /** Plain data in a fixed order, for comparison with the true state. */
  state(): object {
    const { clients, outputs } = this.#collections;
    return {
      clients: Object.fromEntries([...clients].sort()),
      outputs: Object.fromEntries([...outputs].sort()),
    };
  }
}
