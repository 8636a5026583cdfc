// The records of the adapter and its devices (docs/http-api.md, "Bluetooth device"), from the objects of BlueZ. Pure.

import type { BluetoothRecord, DeviceRecord } from '../../protocol/actor/schemas.js';
import { capped } from '../text.js';
import type { Adapter, Device } from './objects.js';

/** The radio's own bound is 248 bytes. */
const NAME_MAX_UNITS = 248;

/** True for devices that stay; the others are what a scan has found, and BlueZ forgets them by itself. */
export function isKnown({ Paired, Trusted, Connected }: Device): boolean {
  return Paired === true || Trusted === true || Connected === true;
}

export function deviceRecord(device: Device, isScanning: boolean, output: string | undefined): DeviceRecord {
  const { Address: address = '', Alias, Icon, Paired = false, Bonded = Paired } = device;
  const { Trusted = false, Connected = false, RSSI, battery } = device;
  return {
    address,
    name: capped(Alias || address, NAME_MAX_UNITS),
    ...{ paired: Paired, bonded: Bonded, trusted: Trusted, connected: Connected },
    ...(Icon && { kind: capped(Icon, NAME_MAX_UNITS) }),
    ...(battery !== undefined && { battery }),
    ...(isScanning && RSSI !== undefined && { rssi: RSSI }),
    ...(output !== undefined && { output }),
  };
}

export function bluetoothRecord(
  adapter: Adapter,
  known: readonly DeviceRecord[],
  pairingUntil: number | undefined,
): BluetoothRecord {
  const { Address = '', Alias, Powered = false, Discoverable = false, Pairable = false } = adapter;
  return {
    powered: Powered,
    discoverable: Discoverable,
    pairable: Pairable,
    pairing_active: pairingUntil !== undefined,
    ...(pairingUntil !== undefined && { pairing_until: new Date(pairingUntil).toISOString() }),
    scanning: adapter.Discovering ?? false,
    known_devices: known.toSorted((one, other) => (one.address < other.address ? -1 : 1)),
    name: capped(Alias || Address, NAME_MAX_UNITS),
    address: Address,
  };
}
