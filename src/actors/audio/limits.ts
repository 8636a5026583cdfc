// Decides which volume limit holds for a sink, and for a stream that can raise the volume of its sink. Pure.

import type { SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';
import { loudestOf, RAW_NORM } from '../../protocol/pulse/volume.js';
import { chainFrom, hasFlatVolume, type SoundRecords } from './masters.js';
import { type WishSettings, wishFor } from './wishes.js';

/**
 * A sink may exceed its limit by half a hundredth, because servers round the volumes that they store.
 * Records do not show this difference, because their volumes are rounded to hundredths.
 */
const TOLERANCE_FRACTION = 0.005;

export class VolumeLimits {
  /** True if the configuration has the key `volumeLimit`. */
  readonly areConfigured: boolean;
  readonly #wishes: WishSettings;
  readonly #records: SoundRecords;

  constructor(wishes: WishSettings, records: SoundRecords) {
    this.areConfigured = wishes.volumeLimit !== undefined;
    this.#wishes = wishes;
    this.#records = records;
  }

  /**
   * The highest volume that commands may set on a sink, 0..1. It is the lowest limit of the sink and its
   * masters. Undefined means no limit.
   */
  ofSink(sink: SinkInfo): number | undefined {
    if (!this.areConfigured) return undefined;
    const limits = chainFrom(this.#records, sink)
      .map(({ name }) => wishFor(this.#wishes, name).volumeLimit)
      .filter((limit) => limit !== undefined);
    return limits.length > 0 ? Math.min(...limits) : undefined;
  }

  /**
   * The limit of the stream's sink, 0..1. Undefined if the sink has none, or if the stream cannot raise the
   * sink's volume.
   */
  ofStream({ sink }: SinkInputInfo): number | undefined {
    if (!this.areConfigured) return undefined;
    const info = sink === undefined ? undefined : this.#records.sinks.get(sink)?.info;
    return info !== undefined && hasFlatVolume(this.#records, info) ? this.ofSink(info) : undefined;
  }

  isExceeded(sink: SinkInfo): boolean {
    const limit = this.ofSink(sink);
    return limit !== undefined && loudestOf(sink.volume) / RAW_NORM > limit + TOLERANCE_FRACTION;
  }
}
