// Decides the volume of each room when one slider moves them all. The slider shows the loudest room; the
// rooms keep their proportion to each other, also through 0 and back. Pure.

/** A room's volume: 0..1, or more if it is louder than the page can set. */
export interface RoomVolume {
  readonly key: string;
  readonly volume: number;
  /** The room's own limit, 0..1. */
  readonly limit: number;
}

export interface Proportion {
  /** The room's volume before the slider first moved: its share of the proportion. */
  readonly base: number;
  /** The volume to which the slider has set it last. */
  readonly set: number;
}

export type Proportions = ReadonlyMap<string, Proportion>;

/** Volumes that differ by less are the same, because the node rounds to two decimals. */
const SAME_WITHIN = 0.006;

/** The largest volume; 0 without rooms. */
export function loudest(rooms: readonly RoomVolume[]): number {
  return Math.max(0, ...rooms.map(({ volume }) => volume));
}

/**
 * The proportions when the loudest room has `volume`; `set` is then each room's new volume. If somebody else
 * has set a room meanwhile, that volume is its new base. If all rooms are silent, all get the same volume.
 */
export function proportionsAt(
  rooms: readonly RoomVolume[],
  volume: number,
  before: Proportions,
): Proportions {
  const bases = rooms.map((room) => baseOf(room, before.get(room.key)));
  const highest = Math.max(0, ...bases);
  const isSilent = highest === 0;
  return new Map(
    rooms.map(({ key, limit }, index) => {
      const base = isSilent ? volume : (bases[index] ?? 0);
      const part = isSilent ? 1 : base / highest;
      const set = Math.min(limit, Math.round(part * volume * 100) / 100);
      return [key, { base, set }];
    }),
  );
}

function baseOf({ volume }: RoomVolume, before: Proportion | undefined): number {
  const isUnchanged = before !== undefined && Math.abs(before.set - volume) < SAME_WITHIN;
  return isUnchanged ? before.base : volume;
}
