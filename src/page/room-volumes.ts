// Sets the volumes of several rooms together, in proportion. A slow room delays no other room.

import { SETTLE_MS } from './control.js';
import { type Proportions, proportionsAt, type RoomVolume } from './proportion.js';

/** The promise rejects if the room refuses the volume. */
type VolumeSetter = (volume: number) => Promise<unknown>;

const percentOf = (volume: number): number => Math.round(volume * 100);

/** Sends a room's volumes, one request at a time. If several volumes wait, only the newest is sent. */
class VolumeSender {
  /**
   * The volumes, in percent, that an outdated record of the room may have. Each call of `send` adds two: the
   * present volume of the record, and the volume to send.
   */
  readonly #olderPercents = new Set<number>();
  #next: { readonly volume: number; readonly set: VolumeSetter } | undefined;
  #sending: Promise<void> | undefined;
  /** The end of the last request, in milliseconds since the epoch. */
  #sendingEndedAt = 0;

  /** True if a record with this volume may be older than the last request. */
  mayBeOlder(volume: number): boolean {
    return this.#isSettling && this.#olderPercents.has(percentOf(volume));
  }

  /** True while the room's record may still lack the last volume that was sent. */
  get #isSettling(): boolean {
    // If the device's clock was set back after the request, the difference may be negative for hours.
    // Without `Math.abs`, the sender would be settling for hours.
    return this.#sending !== undefined || Math.abs(Date.now() - this.#sendingEndedAt) < SETTLE_MS;
  }

  /**
   * Resolves when the newest volume has been accepted, and rejects when it is refused. `reported` is the
   * volume of the room's record.
   */
  send(volume: number, reported: number, set: VolumeSetter): Promise<void> {
    if (!this.#isSettling) this.#olderPercents.clear();
    this.#olderPercents.add(percentOf(reported)).add(percentOf(volume));
    this.#next = { volume, set };
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
      this.#sendingEndedAt = Date.now();
    });
    return this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#next !== undefined) {
      const { volume, set } = this.#next;
      this.#next = undefined;
      try {
        await set(volume);
      } catch (error) {
        // The refusal of an older volume does not matter, because the room may accept the newest.
        if (this.#next === undefined) throw error;
      }
    }
  }
}

export class RoomVolumes {
  #proportions: Proportions = new Map();
  readonly #senders = new Map<string, VolumeSender>();

  /**
   * Sets the loudest room to `volume`, and the others in proportion. Returns each room with a promise. This
   * promise resolves when the room has accepted its newest volume, and rejects when the room refuses it.
   */
  set<R extends RoomVolume & { readonly setVolume: VolumeSetter }>(
    rooms: readonly R[],
    volume: number,
  ): readonly (readonly [room: R, sent: Promise<void>])[] {
    const currentRooms = rooms.map((room) => this.#withNewestVolume(room));
    this.#proportions = proportionsAt(currentRooms, volume, this.#proportions);
    return rooms.map((room) => {
      const sender = this.#senders.get(room.key) ?? new VolumeSender();
      this.#senders.set(room.key, sender);
      const newVolume = this.#proportions.get(room.key)?.lastSet ?? room.volume;
      return [room, sender.send(newVolume, room.volume, room.setVolume)];
    });
  }

  /**
   * Returns the room with its newest volume: the volume of its record, or, if the record may be outdated, the
   * volume that was set here last. An outdated volume would count as somebody else's change.
   */
  #withNewestVolume(room: RoomVolume): RoomVolume {
    const lastSet = this.#proportions.get(room.key)?.lastSet;
    const mayBeOlder = this.#senders.get(room.key)?.mayBeOlder(room.volume) === true;
    return mayBeOlder && lastSet !== undefined ? { ...room, volume: lastSet } : room;
  }
}
