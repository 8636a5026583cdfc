// Home Assistant's entities of the Bluetooth adapter and of each known device. Pure.

import type { DeviceRecord } from '../../protocol/actor/schemas.js';
import type { Draft, EntitySources } from './drafts.js';
import { ifJson } from './templates.js';

/** A device's own part of the record; devices that are forgotten have none. */
function isConnected(address: string): string {
  const own = `selectattr('address', 'eq', '${address}') | selectattr('connected') | list | length`;
  return `(value_json.known_devices | default([])) | ${own} > 0`;
}

export function bluetoothEntities({ topic, control, bluetooth }: EntitySources): readonly Draft[] {
  if (bluetooth === undefined) return [];
  const state = { state_topic: `${topic}/bluetooth` };
  const set = `${topic}/bluetooth/set`;
  const devices = (bluetooth.known_devices ?? []).flatMap((device) =>
    deviceEntities(device, state, control ? set : undefined),
  );
  const powered = ifJson("'power_up' if value_json.powered else 'power_down'");
  if (!control) return devices;
  return [
    {
      key: 'bluetooth',
      platform: 'switch',
      name: 'Bluetooth',
      rest: {
        ...{ ...state, value_template: powered, state_on: 'power_up', state_off: 'power_down' },
        ...{ command_topic: set, payload_on: 'power_up', payload_off: 'power_down' },
        icon: 'mdi:bluetooth',
      },
    },
    {
      key: 'bluetooth_pairing',
      platform: 'button',
      name: 'Bluetooth pairing',
      rest: { command_topic: set, payload_press: 'pairing_mode', icon: 'mdi:bluetooth-connect' },
    },
    ...devices,
  ];
}

/** A binary sensor, and a switch where commands are taken. */
function deviceEntities(
  { address, name }: DeviceRecord,
  state: { readonly state_topic: string },
  set: string | undefined,
): readonly Draft[] {
  const key = `bluetooth_${address.replaceAll(':', '')}`;
  const connected = isConnected(address);
  const sensor = {
    ...state,
    value_template: ifJson(`'ON' if ${connected} else 'OFF'`),
    device_class: 'connectivity',
  };
  const on = JSON.stringify({ connect: address });
  const off = JSON.stringify({ disconnect: address });
  return [
    { key: `${key}_connected`, platform: 'binary_sensor', name, rest: sensor },
    ...(set === undefined
      ? []
      : [
          {
            key,
            platform: 'switch',
            name: `Connect ${name}`,
            rest: {
              ...{ ...state, value_template: ifJson(`'on' if ${connected} else 'off'`) },
              ...{ state_on: 'on', state_off: 'off', command_topic: set, payload_on: on, payload_off: off },
              icon: 'mdi:bluetooth-audio',
            },
          },
        ]),
  ];
}
