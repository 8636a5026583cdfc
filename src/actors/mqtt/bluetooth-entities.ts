// Decides which entities Home Assistant shows for Bluetooth: those of the adapter, and those of each known
// device. Pure.

import type { BluetoothRecord } from '../../protocol/actor/schemas.js';
import {
  buttonDraft,
  type DisplayedNode,
  type Draft,
  type EntityMembers,
  ifJson,
  UNKNOWN,
  wordSwitchFields,
} from './entity-drafts.js';
import { distinctLabels } from './entity-names.js';

export function bluetoothEntities(node: DisplayedNode): readonly Draft[] {
  const topic = `${node.topic}/bluetooth`;
  const records = node.branch.records<BluetoothRecord>('bluetooth');
  // There is at most one record, because the node uses one adapter.
  return records.flatMap((record) => [
    ...adapterEntities(topic, node.control),
    ...knownDevices(record).flatMap((device) => deviceEntities(device, topic, node.control)),
  ]);
}

function adapterEntities(topic: string, control: boolean): readonly Draft[] {
  const powerState = {
    key: 'bluetooth',
    name: 'Bluetooth',
    topic,
    expression: 'value_json.powered',
    onWord: 'power_up',
    offWord: 'power_down',
    icon: 'mdi:bluetooth',
  };
  const pairingState = {
    key: 'bluetooth_pairing',
    name: 'Bluetooth pairing',
    topic,
    expression: 'value_json.pairing_active',
    onWord: 'pairing_mode',
    offWord: 'pairing_mode_stop',
    icon: 'mdi:bluetooth-connect',
  };
  const scanButton = {
    key: 'bluetooth_scan',
    name: 'Bluetooth scan',
    commandTopic: `${topic}/set`,
    word: 'scan',
    style: { icon: 'mdi:magnify' },
  };
  return [
    adapterStateEntity(powerState, control),
    adapterStateEntity(pairingState, control),
    ...(control ? [buttonDraft(scanButton)] : []),
  ];
}

interface AdapterState {
  readonly key: string;
  readonly name: string;
  readonly topic: string;
  /** A template's expression that is true while the state is on. */
  readonly expression: string;
  readonly onWord: string;
  readonly offWord: string;
  readonly icon: string;
}

/** Makes a switch, or a sensor if `control` is false. */
function adapterStateEntity(state: AdapterState, control: boolean): Draft {
  const { key, name, topic, expression, onWord, offWord, icon } = state;
  const stateFields = (on: string, off: string): EntityMembers => ({
    state_topic: topic,
    value_template: ifJson(`'${on}' if ${expression} else '${off}'`),
    icon,
  });
  // A binary sensor has the states ON and OFF in Home Assistant. A switch may have any words for its states.
  if (!control) return { key, platform: 'binary_sensor', name, fields: stateFields('ON', 'OFF') };
  const fields = { ...stateFields(onWord, offWord), ...wordSwitchFields(`${topic}/set`, onWord, offWord) };
  return { key, platform: 'switch', name, fields };
}

interface DisplayedDevice {
  readonly address: string;
  readonly label: string;
}

function knownDevices(record: BluetoothRecord): readonly DisplayedDevice[] {
  const devices = record.known_devices ?? [];
  // `distinctLabels` tells entries apart by their `name`. Here `name` is the device's address, because two
  // devices may have the same name, but never the same address.
  const labels = distinctLabels(
    devices.map(({ address, name }) => ({ name: address, label: name, addition: address })),
  );
  return devices.map(({ address }) => ({ address, label: labels.get(address) ?? address }));
}

const KNOWN_DEVICES_EXPRESSION = 'value_json.known_devices | default([])';

/**
 * Returns a sensor for the connection and one for the battery. With `control`, there is also a switch that
 * connects and disconnects the device.
 */
function deviceEntities(
  { address, label }: DisplayedDevice,
  topic: string,
  control: boolean,
): readonly Draft[] {
  const key = `bluetooth_${address.replaceAll(':', '')}`;
  const deviceFilter = `selectattr('address', 'eq', '${address}')`;
  // A device that the node has forgotten is no longer in the list, so it counts as not connected.
  const connectedExpression = `(${KNOWN_DEVICES_EXPRESSION}) | ${deviceFilter} | selectattr('connected') | list | length > 0`;
  const connectionFields = (connected: string, disconnected: string): EntityMembers => ({
    state_topic: topic,
    value_template: ifJson(`'${connected}' if ${connectedExpression} else '${disconnected}'`),
  });
  const connectionSensor: Draft = {
    key: `${key}_connected`,
    platform: 'binary_sensor',
    name: label,
    fields: { ...connectionFields('ON', 'OFF'), device_class: 'connectivity' },
  };
  const batterySensor = batteryEntity(`${key}_battery`, label, topic, deviceFilter);
  if (!control) return [connectionSensor, batterySensor];
  const commandFields = {
    command_topic: `${topic}/set`,
    payload_on: JSON.stringify({ connect: address }),
    payload_off: JSON.stringify({ disconnect: address }),
    state_on: 'on',
    state_off: 'off',
    icon: 'mdi:bluetooth-audio',
  };
  const fields = { ...connectionFields('on', 'off'), ...commandFields };
  const connectSwitch: Draft = { key, platform: 'switch', name: `Connect ${label}`, fields };
  return [connectionSensor, batterySensor, connectSwitch];
}

/** `deviceFilter` is a filter of Jinja2. It selects the device from the known devices. */
function batteryEntity(key: string, label: string, topic: string, deviceFilter: string): Draft {
  const batteryFilters = "selectattr('battery', 'defined') | map(attribute='battery') | list";
  const batteriesExpression = `(${KNOWN_DEVICES_EXPRESSION} | ${deviceFilter} | ${batteryFilters})`;
  return {
    key,
    platform: 'sensor',
    name: `${label} battery`,
    fields: {
      state_topic: topic,
      value_template: ifJson(`${batteriesExpression} | first | default('${UNKNOWN}')`, UNKNOWN),
      device_class: 'battery',
      unit_of_measurement: '%',
      entity_category: 'diagnostic',
    },
    availableWhile: { topic, expression: `${batteriesExpression} | length > 0` },
  };
}
