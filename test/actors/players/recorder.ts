// A publisher that keeps the published records of players, so that tests can look at them and wait for them.

import type { Publisher } from '../../../src/actors/runtime.js';
import type { PlayerPosition, PlayerRecord } from '../../../src/protocol/actor/schemas.js';
import { PLAYER_NAMES } from '../../../src/protocol/dbus/mpris.js';
import { until } from '../../until.js';

export class PlayersRecorder implements Publisher {
  /** `put NAME`, `drop NAME`, `position NAME`, `up`, `connecting`, in order; names without their common prefix. */
  readonly said: string[] = [];
  readonly positions: PlayerPosition[] = [];
  readonly logged: string[] = [];
  readonly #records = new Map<string, PlayerRecord>();

  put(collection: string, key: string, json: string): void {
    const name = key.slice(PLAYER_NAMES.length);
    if (collection === 'players') {
      this.said.push(`put ${name}`);
      this.#records.set(name, JSON.parse(json));
    } else {
      this.said.push(`position ${name}`);
      this.positions.push(JSON.parse(json));
    }
  }

  drop(collection: string, key: string): void {
    if (collection !== 'players') return;
    const name = key.slice(PLAYER_NAMES.length);
    this.said.push(`drop ${name}`);
    this.#records.delete(name);
  }

  level(): void {
    this.said.push('level');
  }

  status(state: 'connecting' | 'up'): void {
    this.said.push(state);
    if (state === 'connecting') this.#records.clear();
  }

  log(_level: string, message: string): void {
    this.logged.push(message);
  }

  get names(): readonly string[] {
    return [...this.#records.keys()].sort();
  }

  record(name: string): PlayerRecord | undefined {
    return this.#records.get(name);
  }

  /** Waits until the record satisfies `isSo`, and returns it. */
  until(what: string, name: string, isSo: (record: PlayerRecord) => boolean): Promise<PlayerRecord> {
    return until(what, () => {
      const record = this.#records.get(name);
      return record !== undefined && isSo(record) && record;
    });
  }
}
