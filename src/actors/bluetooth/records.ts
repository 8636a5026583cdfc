// The records of the adapter and its devices (docs/http-api.md, "Bluetooth device"), from the objects of
// BlueZ, and which output of the sound server a device is. Pure.

import type { ChangeBatch } from '../../protocol/actor/messages.js';
import type { BluetoothRecord, DeviceRecord, OutputRecord } from '../../protocol/actor/schemas.js';
import { firstWithin } from '../text.js';
import type { Adapter, Device } from './objects.js';

/** The adapter's record is one event. The list of all devices has no such bound. */
const KNOWN_DEVICES_MAX_BYTES = 64 * 1024;

/** The records of the present state, for clients. */
export interface BluetoothRecords {
  readonly bluetooth: BluetoothRecord;
  readonly devices: ReadonlyMap<string, DeviceRecord>;
}

/** `pairingUntil`: when pairing mode ends, in milliseconds since the epoch; undefined while it is off. */
export function recordsOf(
  adapter: Adapter,
  all: readonly Device[],
  outputs: DeviceOutputs,
  pairingUntil: number | undefined,
): BluetoothRecords {
  const {
    Address = '',
    Alias,
    Powered = false,
    Discoverable = false,
    Pairable = false,
    Discovering = false,
  } = adapter;
  const devices = new Map<string, DeviceRecord>();
  const known: DeviceRecord[] = [];
  for (const device of all) {
    const { Address: address, Paired, Trusted, Connected } = device;
    if (address === undefined) continue;
    const record = deviceRecord(device, Discovering, outputs.outputName(address));
    devices.set(address, record);
    // A scan has found the other devices, and BlueZ forgets them by itself.
    if (Paired === true || Trusted === true || Connected === true) known.push(record);
  }
  const sorted = known.toSorted((one, other) => (one.address < other.address ? -1 : 1));
  const bluetooth: BluetoothRecord = {
    powered: Powered,
    discoverable: Discoverable,
    pairable: Pairable,
    pairing_active: pairingUntil !== undefined,
    ...(pairingUntil !== undefined && { pairing_until: new Date(pairingUntil).toISOString() }),
    scanning: Discovering,
    known_devices: firstWithin(sorted, KNOWN_DEVICES_MAX_BYTES, ({ connected }) => connected),
    name: Alias || Address,
    address: Address,
  };
  return { bluetooth, devices };
}

function deviceRecord(device: Device, isScanning: boolean, output: string | undefined): DeviceRecord {
  const { Address: address = '', Alias, Icon, Paired = false, Bonded = Paired } = device;
  const { Trusted = false, Connected = false, RSSI, battery } = device;
  return {
    address,
    name: Alias || address,
    paired: Paired,
    bonded: Bonded,
    trusted: Trusted,
    connected: Connected,
    ...(Icon && { kind: Icon }),
    ...(battery !== undefined && { battery }),
    ...(isScanning && RSSI !== undefined && { rssi: RSSI }),
    ...(output !== undefined && { output }),
  };
}

/**
 * The properties of an output that contain the address of its device: PipeWire's, then PulseAudio's, which
 * has other texts for other devices.
 */
const ADDRESS_PROPERTIES = ['api.bluez5.address', 'device.string'];
const ADDRESS = /^(?:[0-9A-F]{2}:){5}[0-9A-F]{2}$/i;

/**
 * The name of an output that is a device. PipeWire: `bluez_output.AA_BB_CC_DD_EE_FF.1`, newer versions
 * `bluez_output.AA:BB:CC:DD:EE:FF`; PulseAudio: `bluez_sink.AA_...`.
 */
const OF_BLUEZ = /^bluez_(?:output|sink)\.((?:[0-9A-F]{2}[:_]){5}[0-9A-F]{2})(?![0-9A-Z])/i;

/** Any text with an address in one of the two forms. */
const WITH_ADDRESS = /(?:[0-9A-F]{2}[:_]){5}[0-9A-F]{2}/i;

/** The address of the output's device; undefined if it has no Bluetooth device. */
function addressOf({ name, props }: Pick<OutputRecord, 'name'> & Partial<OutputRecord>): string | undefined {
  const named = ADDRESS_PROPERTIES.map((key) => props?.[key]).find(
    (value) => value !== undefined && ADDRESS.test(value),
  );
  return (named ?? OF_BLUEZ.exec(name)?.[1])?.replaceAll('_', ':').toUpperCase();
}

/** Finds the output that belongs to a device: by the output's properties, then by its name. */
export class DeviceOutputs {
  /** By the records' keys. */
  readonly #found = new Map<string, { readonly address: string; readonly name: string }>();

  /** True if any device now belongs to another output, or to none. */
  applyChanges({ isWhole, changes }: ChangeBatch): boolean {
    const before = JSON.stringify([...this.#found]);
    if (isWhole) this.#found.clear();
    for (const change of changes) {
      this.#found.delete(change.key);
      // Most outputs belong to no device, and change often: they are not parsed, to save time.
      if (change.kind === 'drop' || !WITH_ADDRESS.test(change.json)) continue;
      const output = JSON.parse(change.json) as OutputRecord;
      const address = addressOf(output);
      if (address !== undefined) this.#found.set(change.key, { address, name: output.name });
    }
    return JSON.stringify([...this.#found]) !== before;
  }

  outputName(address: string): string | undefined {
    return [...this.#found.values()].find((output) => output.address === address)?.name;
  }
}
