// Sets the volumes of several rooms as one: in proportion, and each room only its newest volume, one request
// at a time, so that a slow room delays no other.

import { type Proportions, proportionsAt, type RoomVolume } from './proportion.js';

/** Its promise rejects if the room refuses the volume. */
type SetVolume = (volume: number) => Promise<unknown>;

class NewestOnly {
  #next: number | undefined;
  #sending: Promise<void> | undefined;

  /** Settles when the newest value has been sent. */
  send(value: number, set: SetVolume): Promise<void> {
    this.#next = value;
    this.#sending ??= this.#sendAll(set).finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async #sendAll(set: SetVolume): Promise<void> {
    while (this.#next !== undefined) {
      const value = this.#next;
      this.#next = undefined;
      await set(value);
    }
  }
}

export class RoomVolumes {
  #proportions: Proportions = new Map();
  readonly #rooms = new Map<string, NewestOnly>();

  /** Sets the loudest room to `volume`. Each promise settles when its room has its newest volume. */
  set<R extends RoomVolume & { readonly setVolume: SetVolume }>(
    rooms: readonly R[],
    volume: number,
  ): readonly (readonly [room: R, sent: Promise<void>])[] {
    this.#proportions = proportionsAt(rooms, volume, this.#proportions);
    return rooms.map((room) => {
      const sender = this.#rooms.get(room.key) ?? new NewestOnly();
      this.#rooms.set(room.key, sender);
      const value = this.#proportions.get(room.key)?.set ?? room.volume;
      return [room, sender.send(value, room.setVolume)];
    });
  }
}
