// BlueZ's double as a program on the node: the scripted BlueZ of the backend's tests, with a phone that has
// paired, on the system bus. It ends with the bus, as bluetoothd does.

import { DEVICE_INTERFACE } from '../../../src/protocol/dbus/bluez.js';
import { device, PHONE, pathOf, ScriptedBluez } from '../../actors/bluetooth/scripted-bluez.js';

const bluez = new ScriptedBluez('unix:path=/run/dbus/system_bus_socket');
bluez.objects.set(pathOf(PHONE), { [DEVICE_INTERFACE]: device(PHONE, { Paired: true, Trusted: true }) });
// Without a bus `start` rejects, and Node ends the process.
void bluez.start();
