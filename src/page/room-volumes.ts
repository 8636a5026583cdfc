// Sets the volumes of several rooms as one, in proportion. A slow room delays no other room.

import { type Proportions, proportionsAt, type RoomVolume } from './proportion.js';

/** Rejects if the room refuses the volume. */
type VolumeSetter = (volume: number) => Promise<unknown>;

/** Sends a room's volumes, one request at a time. If several volumes wait, only the newest is sent. */
class NewestVolume {
  #next: number | undefined;
  #sending: Promise<void> | undefined;

  /**
   * Resolves when the newest volume has been accepted. Rejects when a volume is refused; a newer volume that
   * waits is then not sent.
   */
  send(volume: number, set: VolumeSetter): Promise<void> {
    this.#next = volume;
    this.#sending ??= this.#sendAll(set).finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async #sendAll(set: VolumeSetter): Promise<void> {
    while (this.#next !== undefined) {
      const volume = this.#next;
      this.#next = undefined;
      await set(volume);
    }
  }
}

export class RoomVolumes {
  #proportions: Proportions = new Map();
  readonly #senders = new Map<string, NewestVolume>();

  /**
   * Sets the loudest room to `volume`, and the others in proportion. Returns each room with a promise. It
   * resolves when the room has accepted its newest volume, and rejects when the room refuses a volume.
   */
  set<R extends RoomVolume & { readonly setVolume: VolumeSetter }>(
    rooms: readonly R[],
    volume: number,
  ): readonly (readonly [room: R, sent: Promise<void>])[] {
    this.#proportions = proportionsAt(rooms, volume, this.#proportions);
    return rooms.map((room) => {
      const sender = this.#senders.get(room.key) ?? new NewestVolume();
      this.#senders.set(room.key, sender);
      const newVolume = this.#proportions.get(room.key)?.lastSet ?? room.volume;
      return [room, sender.send(newVolume, room.setVolume)];
    });
  }
}
