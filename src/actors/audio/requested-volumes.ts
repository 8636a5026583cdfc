// Remembers the volumes that commands have set on sinks or sources, so that small steps of volume add up even
// if the mixer rounds volumes. Pure.

import { loudestOf } from '../../protocol/pulse/volume.js';

interface DeviceVolume {
  readonly index: number;
  /** The raw volumes of the channels. */
  readonly volume: readonly number[];
}

/** One object serves all sinks, another one all sources. */
export class RequestedVolumes {
  /**
   * The raw volumes of the loudest channel, by the index of the device. `requested` is the one that a command
   * last set. `reported` is the one that the server reported afterwards. The two differ if the mixer has
   * rounded the requested volume.
   */
  readonly #byIndex = new Map<number, { readonly requested: number; readonly reported: number }>();

  /**
   * To be called when the device has been read again after a command set its loudest channel to `requested`.
   */
  put({ index, volume }: DeviceVolume, requested: number): void {
    this.#byIndex.set(index, { requested, reported: loudestOf(volume) });
  }

  /**
   * Returns the raw volumes from which a step begins. If the loudest channel has not changed since a command
   * set it, the result is only the volume that the command requested for this channel. In all other cases,
   * the result is the reported volumes of all channels. If small steps began at the reported volume, the
   * mixer could round each of them back to that volume.
   */
  stepStart({ index, volume }: DeviceVolume): readonly number[] {
    const lastSet = this.#byIndex.get(index);
    const isUnchanged = lastSet?.reported === loudestOf(volume);
    return lastSet !== undefined && isUnchanged ? [lastSet.requested] : volume;
  }

  delete(index: number): void {
    this.#byIndex.delete(index);
  }

  clear(): void {
    this.#byIndex.clear();
  }
}
