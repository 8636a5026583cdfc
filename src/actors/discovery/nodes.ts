// Publishes the nodes that were found: those that differ from what was published before, while discovery is up.

import type { Publisher } from '../runtime.js';
import { nodeOf, type Sighting } from './sighting.js';

/** Nodes beyond it are left out, and come up when others go. */
const NODES_MAX = 64;

export class Nodes {
  readonly #publish: Pick<Publisher, 'put' | 'drop'>;
  /** This node's name on the network, as far as it has one. */
  readonly #own: () => string | undefined;
  #published: ReadonlyMap<string, string> = new Map();
  #sightings: readonly Sighting[] = [];
  #isUp = false;

  constructor(publish: Pick<Publisher, 'put' | 'drop'>, own: () => string | undefined) {
    this.#publish = publish;
    this.#own = own;
  }

  found(sightings: readonly Sighting[]): void {
    this.#sightings = sightings;
    this.#publishAll();
  }

  /** Call before the status is published. Leaving `up` removes what was published. */
  status(state: 'connecting' | 'up'): void {
    this.#isUp = state === 'up';
    if (!this.#isUp) this.#published = new Map();
    this.#publishAll();
  }

  #publishAll(): void {
    if (!this.#isUp) return;
    const names = [...new Set(this.#sightings.map(({ name }) => name))].slice(0, NODES_MAX);
    const now = new Map(names.map((name) => [name, this.#recordText(name)]));
    for (const name of this.#published.keys()) if (!now.has(name)) this.#publish.drop('nodes', name);
    for (const [name, json] of now)
      if (this.#published.get(name) !== json) this.#publish.put('nodes', name, json);
    this.#published = now;
  }

  #recordText(name: string): string {
    const sightings = this.#sightings.filter((each) => each.name === name);
    return JSON.stringify(nodeOf(sightings, this.#own()));
  }
}
