// Decides the volume of each room when one slider changes the volumes of all rooms. The volumes keep their
// proportion to each other, even if the slider goes to 0 and back. Pure.

export interface RoomVolume {
  readonly key: string;
  /** 0..1, or more if the room is louder than the page can set. */
  readonly volume: number;
  /** The room's own limit, 0..1. */
  readonly limit: number;
}

export interface Proportion {
  /**
   * The volume that the room had before the slider first moved, or that somebody else has set since then.
   * The rooms keep the proportion of their bases. If all rooms were at 0, each base is the first volume that
   * the slider has set.
   */
  readonly base: number;
  /** The volume to which the slider has set the room last. */
  readonly lastSet: number;
}

export type Proportions = ReadonlyMap<string, Proportion>;

/**
 * Volumes count as equal if they differ by less than this. The node rounds to two decimals, so it may report
 * a volume that differs by up to 0.005 from the one that was set.
 */
const SAME_WITHIN = 0.006;

/** The largest volume; 0 without rooms. */
export function loudest(rooms: readonly RoomVolume[]): number {
  return Math.max(0, ...rooms.map(({ volume }) => volume));
}

/**
 * Returns the new proportions when the slider moves to `volume`. The room with the highest base gets
 * `volume`, and the others get volumes in proportion. For example, if `volume` is 0.6, rooms with the bases
 * 0.2 and 0.4 get 0.3 and 0.6. No room gets more than its own limit. If all bases are 0, all rooms get the
 * same volume.
 *
 * `previous` is the result of the last call. If somebody else has set a room since then, the room's volume
 * is its new base.
 */
export function proportionsAt(
  rooms: readonly RoomVolume[],
  volume: number,
  previous: Proportions,
): Proportions {
  const bases = rooms.map((room) => baseOf(room, previous.get(room.key)));
  const highest = Math.max(0, ...bases);
  const areAllBasesZero = highest === 0;
  return new Map(
    rooms.map(({ key, limit }, index) => {
      const base = areAllBasesZero ? volume : (bases[index] ?? 0);
      const part = areAllBasesZero ? 1 : base / highest;
      const rounded = Math.round(part * volume * 100) / 100;
      return [key, { base, lastSet: Math.min(limit, rounded) }];
    }),
  );
}

function baseOf({ volume }: RoomVolume, previous: Proportion | undefined): number {
  const isUnchanged = previous !== undefined && Math.abs(previous.lastSet - volume) < SAME_WITHIN;
  return isUnchanged ? previous.base : volume;
}
