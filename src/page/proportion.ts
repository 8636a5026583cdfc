// Decides the volume of each room when one slider moves them all. The rooms keep their proportion to each
// other, also through 0 and back. Pure.

export interface RoomVolume {
  readonly key: string;
  /** 0..1, or more if the room is louder than the page can set. */
  readonly volume: number;
  /** The room's own limit, 0..1. */
  readonly limit: number;
}

export interface Proportion {
  /**
   * The room's volume before the slider moved it. If all rooms were silent then, the base is the slider's
   * first volume. The rooms keep the proportion of their bases.
   */
  readonly base: number;
  /** The volume to which the slider has set the room last. */
  readonly lastSet: number;
}

export type Proportions = ReadonlyMap<string, Proportion>;

/**
 * Volumes that differ by less count as equal. The node rounds to two decimals, so it may report a volume
 * that differs by 0.005 from the one that was set.
 */
const SAME_WITHIN = 0.006;

/** The largest volume; 0 without rooms. */
export function loudest(rooms: readonly RoomVolume[]): number {
  return Math.max(0, ...rooms.map(({ volume }) => volume));
}

/**
 * Returns the proportions with which the loudest room has `volume`. No room gets more than its own limit.
 * `previous` was returned by the call before. If somebody else has set a room since that call, the room's
 * volume is its new base. If all bases are 0, all rooms get the same volume.
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
