// Remembers the volumes that commands have set on sinks or sources, so that small steps add up on a mixer
// with coarser steps. Pure.

import { loudestOf } from '../../protocol/pulse/volume.js';

interface DeviceVolume {
  readonly index: number;
  /** The raw volumes of the channels. */
  readonly volume: readonly number[];
}

/** One object serves all sinks, another one all sources. */
export class RequestedVolumes {
  /**
   * The volumes of the loudest channel, by the index of the device. `raw` is the one that a command last
   * set. `reported` is the one that the server reported afterwards. `reported` differs from `raw` if the
   * mixer has coarser steps.
   */
  readonly #byIndex = new Map<number, { readonly raw: number; readonly reported: number }>();

  /** To be called when the device has been read again after a command set its loudest channel to `raw`. */
  put({ index, volume }: DeviceVolume, raw: number): void {
    this.#byIndex.set(index, { raw, reported: loudestOf(volume) });
  }

  /**
   * Returns the raw volumes from which a step begins. If the device's volume has not changed since the last
   * command, the result is one volume: that of the loudest channel, as the command set it. If steps began at
   * the reported volume, small steps would never move a mixer with coarser steps.
   */
  stepStart({ index, volume }: DeviceVolume): readonly number[] {
    const requested = this.#byIndex.get(index);
    const isUnchanged = requested?.reported === loudestOf(volume);
    return requested !== undefined && isUnchanged ? [requested.raw] : volume;
  }

  delete(index: number): void {
    this.#byIndex.delete(index);
  }

  clear(): void {
    this.#byIndex.clear();
  }
}
