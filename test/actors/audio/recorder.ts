// A publisher that keeps records as the gateway's journal does, so that tests can look at the final state.

import type { Publisher } from '../../../src/actors/runtime.js';
import type { Collection } from '../../../src/protocol/actor/collections.js';
import type {
  AudioServerRecord,
  CardRecord,
  ClientRecord,
  OutputRecord,
} from '../../../src/protocol/actor/schemas.js';
import type { LogLevel } from '../../../src/protocol/actor/settings.js';

export class Recorder implements Publisher {
  /** Every call, in order, as short lines: `put audio.clients 5`, `up`, `connecting: why`, `log info: what`. */
  readonly said: string[] = [];
  /** The data of each `audio.level`, in order. */
  readonly levels: string[] = [];
  /** The time of each level, in ms. */
  readonly levelsAt: number[] = [];
  readonly #texts = new Map<string, string>();
  #up = false;

  put(collection: Collection, key: string, json: string): void {
    this.said.push(`put ${collection} ${key}`);
    this.#texts.set(`${collection} ${key}`, json);
  }

  drop(collection: Collection, key: string): void {
    this.said.push(`drop ${collection} ${key}`);
    this.#texts.delete(`${collection} ${key}`);
  }

  level(json: string): void {
    this.said.push('level');
    this.levels.push(json);
    this.levelsAt.push(performance.now());
  }

  status(state: 'connecting' | 'up', detail?: string): void {
    this.said.push(detail === undefined ? state : `${state}: ${detail}`);
    this.#up = state === 'up';
    if (!this.#up) this.#texts.clear();
  }

  log(level: LogLevel, message: string): void {
    this.said.push(`log ${level}: ${message}`);
  }

  get up(): boolean {
    return this.#up;
  }

  get logs(): readonly string[] {
    return this.said.filter((line) => line.startsWith('log '));
  }

  get server(): AudioServerRecord | undefined {
    return this.#record('audio.server ');
  }

  output(name: string): OutputRecord | undefined {
    return this.#all<OutputRecord>('audio.outputs ').find((each) => each.name === name);
  }

  client(ref: string | number): ClientRecord | undefined {
    return this.clients().find((each) => (typeof ref === 'number' ? each.id : each.name) === ref);
  }

  outputs(): readonly OutputRecord[] {
    return this.#all('audio.outputs ');
  }

  cards(): readonly CardRecord[] {
    return this.#all('audio.cards ');
  }

  clients(): readonly ClientRecord[] {
    return this.#all('audio.clients ');
  }

  #record<T>(place: string): T | undefined {
    const text = this.#texts.get(place);
    return text === undefined ? undefined : JSON.parse(text);
  }

  #all<T>(prefix: string): readonly T[] {
    const texts = [...this.#texts].filter(([place]) => place.startsWith(prefix));
    return texts.map(([, text]) => JSON.parse(text));
  }
}
