// One volume for several rooms: it is that of the loudest, and when it is moved, all keep their proportion,
// through 0 and back. Pure.

/** A room's volume: 0..1, or more if it is louder than the page can set. */
export interface RoomVolume {
  readonly key: string;
  readonly volume: number;
  /** The room's own limit, 0..1. */
  readonly limit: number;
}

/** `base`: the room's volume before the first movement. `set`: the one that it was last set to. */
export interface Proportion {
  readonly base: number;
  readonly set: number;
}

export type Proportions = ReadonlyMap<string, Proportion>;

/** The node rounds to two decimals. */
const SAME_WITHIN = 0.006;

export function loudest(rooms: readonly RoomVolume[]): number {
  return Math.max(0, ...rooms.map(({ volume }) => volume));
}

/**
 * The volume of each room when the loudest has `volume`. A room that somebody else has set meanwhile begins
 * anew from there. If all are silent, all get the same.
 */
export function proportionsAt(
  rooms: readonly RoomVolume[],
  volume: number,
  before: Proportions,
): Proportions {
  const bases = rooms.map((room) => [room, baseOf(room, before.get(room.key))] as const);
  const highest = Math.max(0, ...bases.map(([, base]) => base));
  return new Map(
    bases.map(([{ key, limit }, base]) => {
      const part = highest === 0 ? 1 : base / highest;
      const set = Math.min(limit, Math.round(part * volume * 100) / 100);
      return [key, { base: highest === 0 ? volume : base, set }];
    }),
  );
}

function baseOf({ volume }: RoomVolume, before: Proportion | undefined): number {
  return before !== undefined && Math.abs(before.set - volume) < SAME_WITHIN ? before.base : volume;
}
