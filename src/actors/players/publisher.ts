// What is told of the players, and when: records that differ from what was told last, gathered for a moment, and positions that
// nobody could reckon.

import type { Clock } from '../../clock.js';
import type { Publisher } from '../runtime.js';
import type { Player } from './player.js';

/** A change of track is some five signals and a reading, and becomes one event. */
const GATHER_MS = 50;
/** While something plays: whether the clock by which clients reckon was set meanwhile. */
const CLOCK_LOOK_MS = 30_000;

/** As it was told last. */
interface Published {
  text: string;
  jumps: number;
}

export class PlayersPublisher {
  readonly #publish: Pick<Publisher, 'put' | 'drop'>;
  readonly #clock: Clock;
  readonly #told = new Map<Player, Published>();
  /** Players with changes that are gathered. */
  readonly #waiting = new Set<Player>();
  #cancel: (() => void) | undefined;
  #cancelLook: (() => void) | undefined;

  constructor(publish: Pick<Publisher, 'put' | 'drop'>, clock: Clock) {
    this.#publish = publish;
    this.#clock = clock;
  }

  changed(player: Player): void {
    this.#waiting.add(player);
    this.#cancel ??= this.#clock.after(GATHER_MS, () => this.tell());
  }

  /** Tells what waits. */
  tell(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const player of waiting) this.#tellOf(player);
    this.#lookAtClock();
  }

  gone(player: Player): void {
    this.#waiting.delete(player);
    if (this.#told.delete(player)) this.#publish.drop('players', player.busName);
  }

  /** Nothing is published any more: leaving `up` has emptied the mirror. */
  forget(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#waiting.clear();
    this.#told.clear();
    this.#cancelLook?.();
    this.#cancelLook = undefined;
  }

  /** A record is made anew when its date cannot be reckoned from any more, and is told only then. */
  #lookAtClock(): void {
    const playing = [...this.#told.keys()].filter(({ plays }) => plays);
    if (playing.length === 0 || this.#cancelLook !== undefined) return;
    this.#cancelLook = this.#clock.after(CLOCK_LOOK_MS, () => {
      this.#cancelLook = undefined;
      for (const player of this.#told.keys()) if (player.plays) this.#tellOf(player);
      this.#lookAtClock();
    });
  }

  #tellOf(player: Player): void {
    const { busName, jumps } = player;
    const record = player.record();
    if (record === undefined) return;
    const text = JSON.stringify(record);
    const told = this.#told.get(player);
    this.#told.set(player, { text, jumps });
    if (told?.text !== text) this.#publish.put('players', busName, text);
    const position = told === undefined || told.jumps === jumps ? undefined : player.position();
    if (position !== undefined) this.#publish.put('players.position', busName, JSON.stringify(position));
  }
}
