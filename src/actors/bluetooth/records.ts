// The records of the adapter and its devices (docs/bluetooth.md, "Records"), from what BlueZ says of them. Pure.

import type { BluetoothRecord, DeviceRecord } from '../../protocol/actor/schemas.js';
import { capped } from '../text.js';
import type { Adapter, Device } from './objects.js';

/** The radio's own bound is 248 bytes. */
const NAME_MAX_UNITS = 248;

export interface Pairing {
  /** Milliseconds since the epoch; undefined while pairing mode is off. */
  readonly until: number | undefined;
}

/** True for devices that stay; the others are what a scan has found, and BlueZ forgets them by itself. */
export function isKnown({ Paired, Trusted, Connected }: Device): boolean {
  return Paired === true || Trusted === true || Connected === true;
}

export function deviceRecord(device: Device, isScanning: boolean): DeviceRecord {
  const { Address: address = '', Alias, Icon, Paired = false, Bonded = Paired } = device;
  const { Trusted = false, Connected = false, RSSI, battery } = device;
  return {
    address,
    name: capped(Alias || address, NAME_MAX_UNITS),
    ...{ paired: Paired, bonded: Bonded, trusted: Trusted, connected: Connected },
    ...(Icon !== undefined && { kind: capped(Icon, NAME_MAX_UNITS) }),
    ...(battery !== undefined && { battery }),
    ...(isScanning && RSSI !== undefined && { rssi: RSSI }),
  };
}

export function bluetoothRecord(
  adapter: Adapter,
  devices: readonly Device[],
  { until }: Pairing,
): BluetoothRecord {
  const { Address = '', Alias, Powered = false, Discoverable = false, Pairable = false } = adapter;
  const scanning = adapter.Discovering ?? false;
  const known = devices.filter(isKnown).map((device) => deviceRecord(device, scanning));
  return {
    powered: Powered,
    discoverable: Discoverable,
    pairable: Pairable,
    pairing_active: until !== undefined,
    ...(until !== undefined && { pairing_until: new Date(until).toISOString() }),
    scanning,
    known_devices: known.sort((one, other) => (one.address < other.address ? -1 : 1)),
    name: capped(Alias || Address, NAME_MAX_UNITS),
    address: Address,
  };
}
