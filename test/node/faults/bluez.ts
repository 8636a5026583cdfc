// This program stands in for bluetoothd on the node's system bus. It runs the scripted BlueZ of the
// backend's tests, with one phone that has paired. It ends with the bus, as bluetoothd does.

import { DEVICE_INTERFACE } from '../../../src/protocol/dbus/bluez.js';
import { device, PHONE, pathOf, ScriptedBluez } from '../../actors/bluetooth/scripted-bluez.js';

const bluez = new ScriptedBluez('unix:path=/run/dbus/system_bus_socket');
bluez.objects.set(pathOf(PHONE), { [DEVICE_INTERFACE]: device(PHONE, { Paired: true, Trusted: true }) });
// Without a bus `start` rejects, and Node ends the process.
void bluez.start();
