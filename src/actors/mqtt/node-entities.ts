// Decides what Home Assistant shows of the machine and of the daemon: units, power, upgrades, the state of
// each backend and bridge, and commands that were refused. Pure.

import { BACKEND_STATES, type ChildName } from '../../protocol/actor/backends.js';
import type { ServiceRecord, UpgradeRecord } from '../../protocol/actor/schemas.js';
import {
  buttonDraft,
  type DisplayedNode,
  type Draft,
  ifJson,
  UNKNOWN,
  wordSwitchFields,
} from './entity-drafts.js';
import { SIMPLE_UNIT_NAME, slugOf } from './entity-names.js';
import { topicLevel } from './topics.js';

export function unitEntities(node: DisplayedNode): readonly Draft[] {
  const services = node.branch.records<ServiceRecord>('systemd.services');
  return services.flatMap((service) => entitiesOfUnit(node, service));
}

function entitiesOfUnit({ topic, control }: DisplayedNode, { scope, name }: ServiceRecord): readonly Draft[] {
  const key = `unit_${scope}_${slugOf(name, SIMPLE_UNIT_NAME)}`;
  const stateTopic = `${topic}/services/${scope}/${topicLevel(name)}`;
  const availableWhile = { topic: stateTopic, expression: 'value_json.exists' };
  // No command can change a unit with the scope `system` (systemd/backend.ts).
  const isReadOnly = scope === 'system' || !control;
  if (isReadOnly) {
    const fields = {
      state_topic: stateTopic,
      value_template: ifJson("'ON' if value_json.running else 'OFF'"),
      device_class: 'running',
      entity_category: 'diagnostic',
    };
    return [{ key, platform: 'binary_sensor', name, fields, availableWhile }];
  }
  const commandTopic = `${stateTopic}/set`;
  const switchFields = {
    state_topic: stateTopic,
    value_template: ifJson("'start' if value_json.running else 'stop'"),
    ...wordSwitchFields(commandTopic, 'start', 'stop'),
  };
  const restartButton = {
    key: `${key}_restart`,
    name: `Restart ${name}`,
    commandTopic,
    word: 'restart',
    style: { device_class: 'restart', entity_category: 'config' },
  };
  return [
    { key, platform: 'switch', name, fields: switchFields, availableWhile },
    { ...buttonDraft(restartButton), availableWhile },
  ];
}

export function powerButtons({ topic, control, branch }: DisplayedNode): readonly Draft[] {
  const powerText = branch.texts().get('power');
  if (!control || powerText === undefined) return [];
  const grantedActions = JSON.parse(powerText) as { readonly reboot: boolean; readonly power_off: boolean };
  const commandTopic = `${topic}/power/set`;
  const rebootButton = {
    key: 'reboot',
    name: 'Reboot',
    commandTopic,
    word: 'reboot',
    style: { device_class: 'restart', entity_category: 'config' },
  };
  const powerOffButton = {
    key: 'power_off',
    name: 'Power off',
    commandTopic,
    word: 'poweroff',
    style: { icon: 'mdi:power', entity_category: 'config' },
  };
  return [
    ...(grantedActions.reboot ? [buttonDraft(rebootButton)] : []),
    ...(grantedActions.power_off ? [buttonDraft(powerOffButton)] : []),
  ];
}

/**
 * Home Assistant compares the installed and the latest version with the Python package AwesomeVersion, and
 * decides by itself whether there is an upgrade. If the package cannot compare the two, Home Assistant offers
 * any version that differs from the installed one. This template sets its variable `latest` to a text with
 * which Home Assistant decides as the node does:
 *
 * - If the node has no upgrade, `latest` is the installed version.
 * - If the node has an upgrade that Home Assistant offers, `latest` is the latest version.
 * - If Home Assistant would not offer the node's upgrade, `latest` is a text such as `1.2 (upgrade)`, which
 *   the package cannot compare. This text begins with the latest version, or with the installed one if the
 *   latest is unknown.
 *
 * Home Assistant's function `version` makes an object of this package from a text. The package cannot compare
 * an object that is not `valid`.
 */
const LATEST_VERSION_TEMPLATE = [
  '{% set old = version(value_json.current) %}{% set new = version(value_json.latest) %}',
  '{% set is_newer = new > old if new.valid and old.valid else new != old %}',
  '{% set offered = value_json.latest if value_json.latest and is_newer ',
  "else (value_json.latest or value_json.current) ~ ' (upgrade)' %}",
  '{% set latest = offered if value_json.upgrade_available else value_json.current %}',
].join('');

const UPDATE_FIELDS = [
  "'installed_version': value_json.current",
  "'latest_version': latest",
  "'in_progress': value_json.run.state == 'running'",
  "'update_percentage': value_json.run.percent | default(none)",
].join(', ');

/** The installed version is '' before the first valid result file (docs/upgrades.md, "The result file"). */
const HAS_RESULT = 'value_json is defined and value_json.current';

export function upgradeEntities(node: DisplayedNode): readonly Draft[] {
  return node.branch.records<UpgradeRecord>('upgrade').flatMap((record) => entitiesOfUpgrade(node, record));
}

function entitiesOfUpgrade(node: DisplayedNode, record: UpgradeRecord): readonly Draft[] {
  const checkButton = {
    key: 'update_check',
    name: 'Check for upgrades',
    commandTopic: `${node.topic}/upgrade/set`,
    word: 'check',
    style: { icon: 'mdi:update' },
  };
  return [
    ...(record.can_upgrade ? [updateEntity(node)] : []),
    ...(record.can_check && node.control ? [buttonDraft(checkButton)] : []),
  ];
}

function updateEntity({ topic, control }: DisplayedNode): Draft {
  const stateTopic = `${topic}/upgrade`;
  const update = `{${UPDATE_FIELDS}}`;
  const value = `${LATEST_VERSION_TEMPLATE}{{ ${update} | to_json }}`;
  const commandFields = control ? { command_topic: `${stateTopic}/set`, payload_install: 'start' } : {};
  return {
    key: 'update',
    platform: 'update',
    name: 'Software',
    fields: {
      state_topic: stateTopic,
      value_template: `{% if ${HAS_RESULT} %}${value}{% endif %}`,
      ...commandFields,
    },
    availableWhile: { topic: stateTopic, expression: 'value_json.current' },
  };
}

export function daemonEntities(node: DisplayedNode): readonly Draft[] {
  const stateSensors = node.branch.children.map((child) => childStateSensor(node, child));
  return node.control ? [...stateSensors, refusedCommandEvent(node)] : stateSensors;
}

/** These children have labels of their own. Any other child's label is its capitalized name. */
const CHILD_LABELS: Partial<Readonly<Record<ChildName, string>>> = { mqtt: 'MQTT', systemd: 'systemd' };

function childStateSensor({ topic }: DisplayedNode, child: ChildName): Draft {
  const label = CHILD_LABELS[child] ?? `${child.charAt(0).toUpperCase()}${child.slice(1)}`;
  return {
    key: `backend_${child}`,
    platform: 'sensor',
    name: `${label} backend`,
    fields: {
      state_topic: `${topic}/backends`,
      value_template: ifJson(`value_json.${child}.state`, UNKNOWN),
      device_class: 'enum',
      options: BACKEND_STATES,
      entity_category: 'diagnostic',
    },
  };
}

const REFUSAL_FIELDS = ['topic', 'title', 'detail', 'status']
  .map((name) => `'${name}': value_json.${name} | default('')`)
  .join(', ');

/** Automations and people notice a refusal by this event. */
function refusedCommandEvent({ topic }: DisplayedNode): Draft {
  return {
    key: 'refused_command',
    platform: 'event',
    name: 'Refused command',
    fields: {
      state_topic: `${topic}/error`,
      event_types: ['refused'],
      value_template: ifJson(`{'event_type': 'refused', ${REFUSAL_FIELDS}} | to_json`),
      icon: 'mdi:alert-circle-outline',
      entity_category: 'diagnostic',
    },
  };
}
