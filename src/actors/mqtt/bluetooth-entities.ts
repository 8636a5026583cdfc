// Bluetooth in Home Assistant: its switches, and each known device with its battery. Pure.

import type { BluetoothRecord } from '../../protocol/actor/schemas.js';
import {
  type DisplayedNode,
  type Draft,
  type Fields,
  ifJson,
  press,
  turns,
  UNKNOWN,
} from './entity-drafts.js';
import { labelsOf } from './entity-names.js';

export function bluetoothEntities(node: DisplayedNode): readonly Draft[] {
  return node.branch.records<BluetoothRecord>('bluetooth').flatMap((record) => recordEntities(node, record));
}

function recordEntities({ topic, control }: DisplayedNode, record: BluetoothRecord): readonly Draft[] {
  const state = `${topic}/bluetooth`;
  const set = `${state}/set`;
  const known = record.known_devices ?? [];
  const labels = labelsOf(known.map(({ address, name }) => [address, name, address]));
  const devices = known.flatMap(({ address }) =>
    deviceEntities(address, labels.get(address) ?? address, state, control),
  );
  if (!control) return devices;
  const value = ifJson("'power_up' if value_json.powered else 'power_down'");
  const fields = { state_topic: state, value_template: value, icon: 'mdi:bluetooth' };
  const pairing = {
    state_topic: state,
    value_template: ifJson("'pairing_mode' if value_json.pairing_active else 'pairing_mode_stop'"),
    icon: 'mdi:bluetooth-connect',
    ...turns(set, 'pairing_mode', 'pairing_mode_stop'),
  };
  return [
    ['bluetooth', 'switch', 'Bluetooth', { ...fields, ...turns(set, 'power_up', 'power_down') }],
    ['bluetooth_pairing', 'switch', 'Bluetooth pairing', pairing],
    press('bluetooth_scan', 'Bluetooth scan', set, 'scan', { icon: 'mdi:magnify' }),
    ...devices,
  ];
}

/** A binary sensor and one of its battery, and a switch where commands are taken. */
function deviceEntities(address: string, name: string, state: string, control: boolean): readonly Draft[] {
  const key = `bluetooth_${address.replaceAll(':', '')}`;
  // Devices that are forgotten have no part in the record.
  const own = `selectattr('address', 'eq', '${address}') | selectattr('connected') | list | length`;
  const connected = `(value_json.known_devices | default([])) | ${own} > 0`;
  const read = (on: string, off: string): Fields => {
    return { state_topic: state, value_template: ifJson(`'${on}' if ${connected} else '${off}'`) };
  };
  const sensor = { ...read('ON', 'OFF'), device_class: 'connectivity' };
  const on = JSON.stringify({ connect: address });
  const off = JSON.stringify({ disconnect: address });
  const sends = { command_topic: `${state}/set`, payload_on: on, payload_off: off };
  const style = { state_on: 'on', state_off: 'off', icon: 'mdi:bluetooth-audio' };
  const toggle: Draft = [key, 'switch', `Connect ${name}`, { ...read('on', 'off'), ...sends, ...style }];
  const charged = "selectattr('battery', 'defined') | map(attribute='battery') | list";
  const charge = `(value_json.known_devices | default([]) | selectattr('address', 'eq', '${address}') | ${charged})`;
  const battery: Fields = {
    state_topic: state,
    value_template: ifJson(`${charge} | first | default('${UNKNOWN}')`, UNKNOWN),
    device_class: 'battery',
    unit_of_measurement: '%',
    entity_category: 'diagnostic',
  };
  return [
    [`${key}_connected`, 'binary_sensor', name, sensor],
    [`${key}_battery`, 'sensor', `${name} battery`, battery, [state, `${charge} | length > 0`]],
    ...(control ? [toggle] : []),
  ];
}
