// Finds the sound server's output that belongs to a device, by the address in the output's name. Pure.

import type { ChangeBatch } from '../../protocol/actor/messages.js';
import type { OutputRecord } from '../../protocol/actor/schemas.js';

/** PipeWire: `bluez_output.AA_BB_CC_DD_EE_FF.1`; PulseAudio: `bluez_sink.AA_BB_CC_DD_EE_FF.a2dp_sink`. */
const OF_BLUEZ = /^bluez_(?:output|sink)\.((?:[0-9A-F]{2}_){5}[0-9A-F]{2})\b/i;

export class DeviceOutputs {
  /** By the records' keys. */
  readonly #found = new Map<string, { readonly address: string; readonly name: string }>();

  /** True if any device is another output now, or none. */
  applyChanges({ isWhole, changes }: ChangeBatch): boolean {
    const before = JSON.stringify([...this.#found]);
    if (isWhole) this.#found.clear();
    for (const change of changes) {
      this.#found.delete(change.key);
      // Most outputs are no device, and change often: they are not worth being parsed.
      if (change.kind === 'drop' || !change.json.includes('"bluez_')) continue;
      const { name } = JSON.parse(change.json) as OutputRecord;
      const address = OF_BLUEZ.exec(name)?.[1]?.replaceAll('_', ':').toUpperCase();
      if (address !== undefined) this.#found.set(change.key, { address, name });
    }
    return JSON.stringify([...this.#found]) !== before;
  }

  outputName(address: string): string | undefined {
    return [...this.#found.values()].find((output) => output.address === address)?.name;
  }
}
