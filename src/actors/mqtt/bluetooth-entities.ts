// Decides what Home Assistant shows of Bluetooth: the adapter's switches, and each known device with its
// battery. Pure.

import type { BluetoothRecord } from '../../protocol/actor/schemas.js';
import {
  buttonDraft,
  type DisplayedNode,
  type Draft,
  type Fields,
  ifJson,
  UNKNOWN,
  wordSwitchFields,
} from './entity-drafts.js';
import { distinctLabels } from './entity-names.js';

export function bluetoothEntities(node: DisplayedNode): readonly Draft[] {
  const topic = `${node.topic}/bluetooth`;
  const records = node.branch.records<BluetoothRecord>('bluetooth');
  return records.flatMap((record) => [
    ...(node.control ? adapterEntities(topic) : []),
    ...knownDevices(record).flatMap((device) => deviceEntities(device, topic, node.control)),
  ]);
}

function adapterEntities(topic: string): readonly Draft[] {
  const commandTopic = `${topic}/set`;
  const power = {
    state_topic: topic,
    value_template: ifJson("'power_up' if value_json.powered else 'power_down'"),
    icon: 'mdi:bluetooth',
    ...wordSwitchFields(commandTopic, 'power_up', 'power_down'),
  };
  const pairing = {
    state_topic: topic,
    value_template: ifJson("'pairing_mode' if value_json.pairing_active else 'pairing_mode_stop'"),
    icon: 'mdi:bluetooth-connect',
    ...wordSwitchFields(commandTopic, 'pairing_mode', 'pairing_mode_stop'),
  };
  const scan = {
    key: 'bluetooth_scan',
    name: 'Bluetooth scan',
    commandTopic,
    word: 'scan',
    style: { icon: 'mdi:magnify' },
  };
  return [
    { key: 'bluetooth', platform: 'switch', name: 'Bluetooth', fields: power },
    { key: 'bluetooth_pairing', platform: 'switch', name: 'Bluetooth pairing', fields: pairing },
    buttonDraft(scan),
  ];
}

interface DisplayedDevice {
  readonly address: string;
  readonly label: string;
}

function knownDevices(record: BluetoothRecord): readonly DisplayedDevice[] {
  const devices = record.known_devices ?? [];
  const labels = distinctLabels(
    devices.map(({ address, name }) => ({ name: address, label: name, addition: address })),
  );
  return devices.map(({ address }) => ({ address, label: labels.get(address) ?? address }));
}

const KNOWN_DEVICES = 'value_json.known_devices | default([])';

/**
 * Two sensors, for the connection and for the battery. If commands are taken, also a switch that connects
 * the device.
 */
function deviceEntities(
  { address, label }: DisplayedDevice,
  topic: string,
  control: boolean,
): readonly Draft[] {
  const key = `bluetooth_${address.replaceAll(':', '')}`;
  const thisDevice = `selectattr('address', 'eq', '${address}')`;
  // A device that was forgotten is not in the list, so it counts as not connected.
  const isConnected = `(${KNOWN_DEVICES}) | ${thisDevice} | selectattr('connected') | list | length > 0`;
  const connectionFields = (connected: string, disconnected: string): Fields => ({
    state_topic: topic,
    value_template: ifJson(`'${connected}' if ${isConnected} else '${disconnected}'`),
  });
  const connected: Draft = {
    key: `${key}_connected`,
    platform: 'binary_sensor',
    name: label,
    fields: { ...connectionFields('ON', 'OFF'), device_class: 'connectivity' },
  };
  const battery = batteryEntity(`${key}_battery`, label, topic, thisDevice);
  if (!control) return [connected, battery];
  const commands = {
    command_topic: `${topic}/set`,
    payload_on: JSON.stringify({ connect: address }),
    payload_off: JSON.stringify({ disconnect: address }),
    state_on: 'on',
    state_off: 'off',
    icon: 'mdi:bluetooth-audio',
  };
  const fields = { ...connectionFields('on', 'off'), ...commands };
  return [connected, battery, { key, platform: 'switch', name: `Connect ${label}`, fields }];
}

/** `thisDevice` is the filter of Jinja2 that selects the device. */
function batteryEntity(key: string, label: string, topic: string, thisDevice: string): Draft {
  const batteryLevels = "selectattr('battery', 'defined') | map(attribute='battery') | list";
  const levels = `(${KNOWN_DEVICES} | ${thisDevice} | ${batteryLevels})`;
  return {
    key,
    platform: 'sensor',
    name: `${label} battery`,
    fields: {
      state_topic: topic,
      value_template: ifJson(`${levels} | first | default('${UNKNOWN}')`, UNKNOWN),
      device_class: 'battery',
      unit_of_measurement: '%',
      entity_category: 'diagnostic',
    },
    availableWhile: { topic, expression: `${levels} | length > 0` },
  };
}
