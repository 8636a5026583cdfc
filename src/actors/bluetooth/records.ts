// Makes the records of the adapter and its devices (docs/http-api.md, "Bluetooth device"). Decides which
// output of the sound server belongs to a device. Pure.

import type { ChangeBatch } from '../../protocol/actor/messages.js';
import type { BluetoothRecord, DeviceRecord, OutputRecord } from '../../protocol/actor/schemas.js';
import { firstWithin } from '../text.js';
import type { BluetoothAdapter, BluetoothDevice } from './objects.js';

/**
 * The adapter's record is one event, so the list of known devices in it is bounded. The devices' own records
 * need no such bound, because each of them is a separate event.
 */
const KNOWN_DEVICES_MAX_BYTES = 64 * 1024;

/** The records of the present state. The keys of `devices` are addresses. */
export interface BluetoothRecords {
  readonly bluetooth: BluetoothRecord;
  readonly devices: ReadonlyMap<string, DeviceRecord>;
}

/** `pairingUntil`: when pairing mode ends, in milliseconds since the epoch; undefined while it is off. */
export function makeRecords(
  adapter: BluetoothAdapter,
  allDevices: readonly BluetoothDevice[],
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
  const knownDevices: DeviceRecord[] = [];
  for (const device of allDevices) {
    const { Address: address, Paired, Trusted, Connected } = device;
    if (address === undefined) continue;
    const record = deviceRecord(device, Discovering, outputs.outputName(address));
    devices.set(address, record);
    // A device that is not known was only found by a scan. BlueZ soon forgets such a device by itself.
    const isKnown = Paired === true || Trusted === true || Connected === true;
    if (isKnown) knownDevices.push(record);
  }
  const sorted = knownDevices.toSorted((one, other) => (one.address < other.address ? -1 : 1));
  const bluetooth: BluetoothRecord = {
    powered: Powered,
    discoverable: Discoverable,
    pairable: Pairable,
    pairing_active: pairingUntil !== undefined,
    ...(pairingUntil !== undefined && { pairing_until: new Date(pairingUntil).toISOString() }),
    scanning: Discovering,
    // Once the list has reached the bound, only connected devices are still added.
    known_devices: firstWithin(sorted, KNOWN_DEVICES_MAX_BYTES, ({ connected }) => connected),
    name: Alias || Address,
    address: Address,
  };
  return { bluetooth, devices };
}

function deviceRecord(
  device: BluetoothDevice,
  isScanning: boolean,
  output: string | undefined,
): DeviceRecord {
  // BlueZ has no `Bonded` before version 5.66.
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
 * One of these properties of an output contains the address of the output's Bluetooth device: the first in
 * PipeWire, the second in PulseAudio. If the output has no Bluetooth device, the second has another text.
 */
const ADDRESS_PROPERTIES = ['api.bluez5.address', 'device.string'];
/** A text that is an address, such as `AA:BB:CC:DD:EE:FF`. */
const WHOLE_ADDRESS = /^(?:[0-9A-F]{2}:){5}[0-9A-F]{2}$/i;

/**
 * The name of an output that plays to a Bluetooth device: `bluez_output.AA_BB_CC_DD_EE_FF.1` in PipeWire,
 * `bluez_output.AA:BB:CC:DD:EE:FF` in newer versions of PipeWire, `bluez_sink.AA_BB_CC_DD_EE_FF.a2dp_sink` in
 * PulseAudio. If a letter or digit directly follows the sixth byte, the name contains no address.
 */
const BLUEZ_OUTPUT_NAME = /^bluez_(?:output|sink)\.((?:[0-9A-F]{2}[:_]){5}[0-9A-F]{2})(?![0-9A-Z])/i;

/** Any text that contains an address, with colons or with underscores. */
const CONTAINED_ADDRESS = /(?:[0-9A-F]{2}[:_]){5}[0-9A-F]{2}/i;

/** An output that has a Bluetooth device. */
interface DeviceOutput {
  readonly name: string;
  /** The address of the device. */
  readonly address: string;
  /** False if only the output's name contains the address. */
  readonly hasAddressProperty: boolean;
}

/** Undefined if the output has no Bluetooth device. */
function deviceOutput({ name, props }: OutputRecord): DeviceOutput | undefined {
  const candidates = ADDRESS_PROPERTIES.map((key) => props?.[key]);
  const addressInProperties = candidates.find((value) => value !== undefined && WHOLE_ADDRESS.test(value));
  const [, addressInName] = BLUEZ_OUTPUT_NAME.exec(name) ?? [];
  const address = (addressInProperties ?? addressInName)?.replaceAll('_', ':').toUpperCase();
  if (address === undefined) return undefined;
  return { name, address, hasAddressProperty: addressInProperties !== undefined };
}

/**
 * Sorts the outputs of one device: first the device's own output, then the filters that play to this output.
 * A filter such as `MASTER.remapped` may have no address property, so outputs with this property come first.
 * If both outputs have this property, or neither, the names decide: the filter's name begins with the
 * master's name, so the master comes first.
 */
function byPrecedence(one: DeviceOutput, other: DeviceOutput): number {
  if (one.hasAddressProperty !== other.hasAddressProperty) return one.hasAddressProperty ? -1 : 1;
  return one.name < other.name ? -1 : 1;
}

/** Finds the output that belongs to a device: by the output's properties, or else by the output's name. */
export class DeviceOutputs {
  /** The outputs that have a Bluetooth device, by the keys of their records. */
  readonly #outputs = new Map<string, DeviceOutput>();

  /**
   * Returns true if any device may now have another output than before. All changes are about outputs
   * (`IS_NEEDED` in messages.ts).
   */
  applyChanges({ isWhole, changes }: ChangeBatch): boolean {
    const before = JSON.stringify([...this.#outputs]);
    if (isWhole) this.#outputs.clear();
    for (const change of changes) {
      // Only a text with an address is parsed. Most outputs have no address, and their records change often.
      const mayHaveDevice = change.kind === 'put' && CONTAINED_ADDRESS.test(change.json);
      const output = mayHaveDevice ? deviceOutput(JSON.parse(change.json) as OutputRecord) : undefined;
      if (output === undefined) this.#outputs.delete(change.key);
      else this.#outputs.set(change.key, output);
    }
    return JSON.stringify([...this.#outputs]) !== before;
  }

  /**
   * Undefined if no output belongs to the device with this address. The order in which outputs came or
   * changed does not matter.
   */
  outputName(address: string): string | undefined {
    const outputs = [...this.#outputs.values()].filter((output) => output.address === address);
    const [first] = outputs.toSorted(byPrecedence);
    return first?.name;
  }
}
