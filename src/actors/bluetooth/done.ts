// Table of what a published state shows when a command has been carried out. A connection has its own time, and its end is an event.

import type { BluetoothCommand } from '../../protocol/actor/commands.js';
import type { BluetoothRecords } from './publisher.js';

export const IS_DONE: Readonly<
  Partial<Record<BluetoothCommand['do'], (shown: BluetoothRecords, address: string) => boolean>>
> = {
  power_up: ({ bluetooth }) => bluetooth.powered,
  power_down: ({ bluetooth }) => !bluetooth.powered,
  pairing_mode: ({ bluetooth }) => bluetooth.pairing_active && bluetooth.discoverable && bluetooth.pairable,
  'pairing_mode/stop': ({ bluetooth: { pairing_active, discoverable, pairable } }) =>
    !(pairing_active || discoverable || pairable),
  scan: ({ bluetooth }) => bluetooth.scanning,
  'scan/stop': ({ bluetooth }) => !bluetooth.scanning,
  disconnect: ({ devices }, address) => devices.get(address)?.connected !== true,
  forget: ({ devices }, address) => !devices.has(address),
};
