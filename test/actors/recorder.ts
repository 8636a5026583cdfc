// Records everything that an actor publishes: the calls in order, and the newest text of each record. Some
// tests extend `Recorder` with getters for the records that they need.

import type { BackendLink } from '../../src/actors/runtime.js';
import type { Collection } from '../../src/protocol/actor/collections.js';
import type { Answer } from '../../src/protocol/actor/commands.js';
import type { ChildReply, ChildRequest } from '../../src/protocol/actor/messages.js';
import type { LogLevel } from '../../src/protocol/actor/settings.js';

/** The fault of a refused command; `none` if the command is accepted. */
export const faultOf = (answer: Answer): string => (answer.ok ? 'none' : answer.error.fault);

export class Recorder implements BackendLink {
  /**
   * Everything that is published, in order: `put audio.clients 5`, `drop audio.clients 5`, `level`, `up`,
   * `up: why`, `connecting`, `connecting: why`. With an empty key a put is `put upgrade`.
   */
  readonly published: string[] = [];
  /** The lines of the log, in order: `info: TEXT`. */
  readonly logs: string[] = [];
  /** `up`, `up: why`, `connecting` or `connecting: why`; empty until the actor has reported a status. */
  state = '';
  /** The newest text of each record. The key is the collection, a blank, and the record's key. */
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
    // The recorder forgets all records at `connecting`, but the journal keeps some (`dropsWhenAway` in
    // gateway/journal.ts).
    if (state === 'connecting') this.#texts.clear();
  }

  /** The operations that the actor has requested. */
  readonly requested: string[] = [];

  async ask({ operation }: ChildRequest): Promise<ChildReply> {
    this.requested.push(String(operation));
    return { status: 202, body: '' };
  }

  log(level: LogLevel, message: string): void {
    this.logs.push(`${level}: ${message}`);
  }

  get isUp(): boolean {
    return /^up\b/.test(this.state);
  }

  /** The newest record with this key; undefined if there is no such record now. */
  newest<T>(collection: Collection, key = ''): T | undefined {
    const text = this.#texts.get(`${collection} ${key}`);
    return text === undefined ? undefined : JSON.parse(text);
  }

  keys(collection: Collection): readonly string[] {
    const fullKeys = [...this.#texts.keys()].filter((fullKey) => fullKey.startsWith(`${collection} `));
    return fullKeys.map((fullKey) => fullKey.slice(collection.length + 1));
  }

  all<T>(collection: Collection): readonly T[] {
    const texts = [...this.#texts].filter(([fullKey]) => fullKey.startsWith(`${collection} `));
    return texts.map(([, text]) => JSON.parse(text));
  }
}
