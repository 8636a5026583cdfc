// Decides what Home Assistant shows of the machine and of the service: units, power, upgrades, the state of
// each backend, and commands that were refused. Pure.

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
import { SIMPLE_UNIT, slugOf } from './entity-names.js';
import { topicLevel } from './topics.js';

export function unitEntities(node: DisplayedNode): readonly Draft[] {
  const services = node.branch.records<ServiceRecord>('systemd.services');
  return services.flatMap((service) => entitiesOfUnit(node, service));
}

function entitiesOfUnit({ topic, control }: DisplayedNode, { scope, name }: ServiceRecord): readonly Draft[] {
  const key = `unit_${scope}_${slugOf(name, SIMPLE_UNIT)}`;
  const state = `${topic}/services/${scope}/${topicLevel(name)}`;
  const availableWhile = { topic: state, expression: 'value_json.exists' };
  if (scope === 'system' || !control) {
    const fields = {
      state_topic: state,
      value_template: ifJson("'ON' if value_json.running else 'OFF'"),
      device_class: 'running',
      entity_category: 'diagnostic',
    };
    return [{ key, platform: 'binary_sensor', name, fields, availableWhile }];
  }
  const commandTopic = `${state}/set`;
  const running = {
    state_topic: state,
    value_template: ifJson("'start' if value_json.running else 'stop'"),
    ...wordSwitchFields(commandTopic, 'start', 'stop'),
  };
  const restart = {
    key: `${key}_restart`,
    name: `Restart ${name}`,
    commandTopic,
    word: 'restart',
    style: { device_class: 'restart', entity_category: 'config' },
  };
  return [
    { key, platform: 'switch', name, fields: running, availableWhile },
    { ...buttonDraft(restart), availableWhile },
  ];
}

export function powerButtons({ topic, control, branch }: DisplayedNode): readonly Draft[] {
  const text = branch.texts().get('power');
  if (!control || text === undefined) return [];
  const granted = JSON.parse(text) as { readonly reboot: boolean; readonly power_off: boolean };
  const commandTopic = `${topic}/power/set`;
  const reboot = {
    key: 'reboot',
    name: 'Reboot',
    commandTopic,
    word: 'reboot',
    style: { device_class: 'restart', entity_category: 'config' },
  };
  const powerOff = {
    key: 'power_off',
    name: 'Power off',
    commandTopic,
    word: 'poweroff',
    style: { icon: 'mdi:power', entity_category: 'config' },
  };
  return [
    ...(granted.reboot ? [buttonDraft(reboot)] : []),
    ...(granted.power_off ? [buttonDraft(powerOff)] : []),
  ];
}

/**
 * The node decides whether there is an upgrade, but Home Assistant compares the two version texts itself, by
 * AwesomeVersion. So the template, which can use AwesomeVersion too (`version`), writes texts that lead to
 * the node's decision. Without an upgrade, the latest version is the installed one. If there is an upgrade
 * that Home Assistant would not offer, the latest version gets an addition that AwesomeVersion cannot
 * compare, because Home Assistant offers what it cannot compare.
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

/** Without a result file the current version is unknown, which the record writes as an empty text. */
const HAS_RESULT = 'value_json is defined and value_json.current';

export function upgradeEntities(node: DisplayedNode): readonly Draft[] {
  return node.branch.records<UpgradeRecord>('upgrade').flatMap((record) => entitiesOfUpgrade(node, record));
}

function entitiesOfUpgrade(node: DisplayedNode, record: UpgradeRecord): readonly Draft[] {
  const check = {
    key: 'update_check',
    name: 'Check for upgrades',
    commandTopic: `${node.topic}/upgrade/set`,
    word: 'check',
    style: { icon: 'mdi:update' },
  };
  return [
    ...(record.can_upgrade ? [updateEntity(node)] : []),
    ...(record.can_check && node.control ? [buttonDraft(check)] : []),
  ];
}

function updateEntity({ topic, control }: DisplayedNode): Draft {
  const state = `${topic}/upgrade`;
  const value = `${LATEST_VERSION_TEMPLATE}{{ {${UPDATE_FIELDS}} | to_json }}`;
  const commands = control ? { command_topic: `${state}/set`, payload_install: 'start' } : {};
  return {
    key: 'update',
    platform: 'update',
    name: 'Software',
    fields: {
      state_topic: state,
      value_template: `{% if ${HAS_RESULT} %}${value}{% endif %}`,
      ...commands,
    },
    availableWhile: { topic: state, expression: 'value_json.current' },
  };
}

export function serviceEntities(node: DisplayedNode): readonly Draft[] {
  const states = node.branch.children.map((child) => childEntity(node, child));
  return node.control ? [...states, refusedCommand(node)] : states;
}

/** Names of children that are not the child's own name with a capital letter. */
const CHILD_LABELS: Partial<Readonly<Record<ChildName, string>>> = { mqtt: 'MQTT', systemd: 'systemd' };

function childEntity({ topic }: DisplayedNode, child: ChildName): Draft {
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

/** An event for each refusal of a command, so that an automation, or a person, notices it. */
function refusedCommand({ topic }: DisplayedNode): Draft {
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
