// A publisher that keeps everything an actor publishes, in order, and its records as the gateway's journal
// does. Each actor's tests extend it, or read it in their own words.

import type { BackendLink } from '../../src/actors/runtime.js';
import type { Collection } from '../../src/protocol/actor/collections.js';
import type { Answer } from '../../src/protocol/actor/commands.js';
import type { BridgeReply, BridgeRequest } from '../../src/protocol/actor/messages.js';
import type { LogLevel } from '../../src/protocol/actor/settings.js';

export const faultOf = (answer: Answer): string => (answer.ok ? 'none' : answer.error.fault);

export class Recorder implements BackendLink {
  /**
   * Everything that is published, in order: `put audio.clients 5`, `drop audio.clients 5`, `level`, `up`,
   * `connecting: why`.
   */
  readonly published: string[] = [];
  /** `info: what`. */
  readonly logs: string[] = [];
  /** `up`, or `connecting: why`; empty before the first. */
  state = '';
  readonly #texts = new Map<string, string>();

  put(collection: Collection, key: string, json: string): void {
    this.published.push(`put ${collection} ${key}`.trimEnd());
    this.#texts.set(`${collection} ${key}`, json);
  }

  drop(collection: Collection, key: string): void {
    this.published.push(`drop ${collection} ${key}`);
    this.#texts.delete(`${collection} ${key}`);
  }

  level(_json: string): void {
    this.published.push('level');
  }

  status(state: 'connecting' | 'up', detail?: string): void {
    this.state = detail === undefined ? state : `${state}: ${detail}`;
    this.published.push(this.state);
    if (state === 'connecting') this.#texts.clear();
  }

  /** The operations that the actor has requested. */
  readonly requested: string[] = [];

  async ask({ operation }: BridgeRequest): Promise<BridgeReply> {
    this.requested.push(String(operation));
    return { status: 202, body: '' };
  }

  log(level: LogLevel, message: string): void {
    this.logs.push(`${level}: ${message}`);
  }

  get up(): boolean {
    return /^up\b/.test(this.state);
  }

  /** The record as it was put last. */
  one<T>(collection: Collection, key = ''): T | undefined {
    const text = this.#texts.get(`${collection} ${key}`);
    return text === undefined ? undefined : JSON.parse(text);
  }

  keys(collection: Collection): readonly string[] {
    const places = [...this.#texts.keys()].filter((place) => place.startsWith(`${collection} `));
    return places.map((place) => place.slice(collection.length + 1));
  }

  all<T>(collection: Collection): readonly T[] {
    const texts = [...this.#texts].filter(([place]) => place.startsWith(`${collection} `));
    return texts.map(([, text]) => JSON.parse(text));
  }
}
