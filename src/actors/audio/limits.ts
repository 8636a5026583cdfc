// The volume limits of sinks, and of streams that can raise their sink. Pure.

import type { SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';
import { loudestOf, RAW_NORM } from '../../protocol/pulse/volume.js';
import { isFlat, mastersFrom, type SoundRecords } from './masters.js';
import { type OutputWishes, wishFor } from './wishes.js';

/** Less than what a record shows: servers store volumes with a rounding of their own. */
const TOLERANCE = 0.005;

export class VolumeLimits {
  /** True if the configuration limits no output. */
  readonly areNone: boolean;
  readonly #wishes: OutputWishes;
  readonly #records: SoundRecords;

  constructor(wishes: OutputWishes, records: SoundRecords) {
    this.areNone = wishes.volumeLimit === undefined;
    this.#wishes = wishes;
    this.#records = records;
  }

  /**
   * The highest volume that commands may set on a sink, 0..1: the lowest of its own and its masters'.
   * Undefined means no limit.
   */
  of(sink: SinkInfo): number | undefined {
    if (this.areNone) return undefined;
    const limits = mastersFrom(this.#records, sink).flatMap(
      ({ name }) => wishFor(this.#wishes, name).volumeLimit ?? [],
    );
    return limits.length > 0 ? Math.min(...limits) : undefined;
  }

  /** The limit of a stream whose volume can raise its sink's. */
  ofFlat({ sink }: SinkInputInfo): number | undefined {
    if (this.areNone) return undefined;
    const info = sink === undefined ? undefined : this.#records.sinks.get(sink)?.info;
    return info !== undefined && isFlat(this.#records, info) ? this.of(info) : undefined;
  }

  isExceeded(sink: SinkInfo): boolean {
    const limit = this.of(sink);
    return limit !== undefined && loudestOf(sink.volume) / RAW_NORM > limit + TOLERANCE;
  }
}
