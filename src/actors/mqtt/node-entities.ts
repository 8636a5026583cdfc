// The machine and the service in Home Assistant: units, power, upgrades, the state of each backend, and
// commands that were refused. Pure.

import { BACKEND_STATES, type ChildName } from '../../protocol/actor/backends.js';
import type { ServiceRecord, UpgradeRecord } from '../../protocol/actor/schemas.js';
import {
  type Condition,
  type DisplayedNode,
  type Draft,
  ifJson,
  press,
  turns,
  UNKNOWN,
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
  const exists: Condition = [state, 'value_json.exists'];
  if (scope === 'system' || !control) {
    const value = { state_topic: state, value_template: ifJson("'ON' if value_json.running else 'OFF'") };
    const style = { device_class: 'running', entity_category: 'diagnostic' };
    return [[key, 'binary_sensor', name, { ...value, ...style }, exists]];
  }
  const set = `${state}/set`;
  const value = { state_topic: state, value_template: ifJson("'start' if value_json.running else 'stop'") };
  const style = { device_class: 'restart', entity_category: 'config' };
  const restart = { command_topic: set, payload_press: 'restart', ...style };
  return [
    [key, 'switch', name, { ...value, ...turns(set, 'start', 'stop') }, exists],
    [`${key}_restart`, 'button', `Restart ${name}`, restart, exists],
  ];
}

export function powerButtons({ topic, control, branch }: DisplayedNode): readonly Draft[] {
  const text = branch.texts().get('power');
  if (!control || text === undefined) return [];
  const granted = JSON.parse(text) as { readonly reboot: boolean; readonly power_off: boolean };
  const set = `${topic}/power/set`;
  const restart = { device_class: 'restart', entity_category: 'config' };
  const off = { icon: 'mdi:power', entity_category: 'config' };
  return [
    ...(granted.reboot ? [press('reboot', 'Reboot', set, 'reboot', restart)] : []),
    ...(granted.power_off ? [press('power_off', 'Power off', set, 'poweroff', off)] : []),
  ];
}

/**
 * Home Assistant offers an update if AwesomeVersion, which templates have too, takes the latest version for
 * newer than the installed one. Here the node's own verdict decides. Without an update, the latest version is
 * displayed as the installed one. If there is an update that Home Assistant would not offer, its text becomes
 * one that AwesomeVersion cannot compare, and takes for newer.
 */
const UPDATE_TEXTS = [
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

/** Without a result file the version is an empty text, which means that it is unknown. */
const HAS_RESULT = 'value_json is defined and value_json.current';

export function upgradeEntities(node: DisplayedNode): readonly Draft[] {
  return node.branch.records<UpgradeRecord>('upgrade').flatMap((record) => entitiesOfUpgrade(node, record));
}

function entitiesOfUpgrade(node: DisplayedNode, record: UpgradeRecord): readonly Draft[] {
  const set = `${node.topic}/upgrade/set`;
  const check = press('update_check', 'Check for upgrades', set, 'check', { icon: 'mdi:update' });
  return [
    ...(record.can_upgrade ? [update(node)] : []),
    ...(record.can_check && node.control ? [check] : []),
  ];
}

function update({ topic, control }: DisplayedNode): Draft {
  const state = `${topic}/upgrade`;
  const value = `{% if ${HAS_RESULT} %}${UPDATE_TEXTS}{{ {${UPDATE_FIELDS}} | to_json }}{% endif %}`;
  const set = control ? { command_topic: `${state}/set`, payload_install: 'start' } : {};
  const fields = { state_topic: state, value_template: value, ...set };
  return ['update', 'update', 'Software', fields, [state, 'value_json.current']];
}

/** Names that are not simply capitalized. */
const CHILD_LABELS: Partial<Readonly<Record<ChildName, string>>> = { mqtt: 'MQTT', systemd: 'systemd' };

export function serviceEntities(node: DisplayedNode): readonly Draft[] {
  return [...node.branch.children.map((child) => childEntity(node, child)), ...refusedCommand(node)];
}

function childEntity({ topic }: DisplayedNode, child: ChildName): Draft {
  const fields = {
    state_topic: `${topic}/backends`,
    value_template: ifJson(`value_json.${child}.state`, UNKNOWN),
    device_class: 'enum',
    options: BACKEND_STATES,
    entity_category: 'diagnostic',
  };
  const name = CHILD_LABELS[child] ?? `${child.charAt(0).toUpperCase()}${child.slice(1)}`;
  return [`backend_${child}`, 'sensor', `${name} backend`, fields];
}

const REFUSED_FIELDS = ['topic', 'title', 'detail', 'status']
  .map((name) => `'${name}': value_json.${name} | default('')`)
  .join(', ');

/** An event for each refusal at `T/error`, so that an automation, or a person, sees that nothing happened. */
function refusedCommand({ topic, control }: DisplayedNode): readonly Draft[] {
  if (!control) return [];
  const fields = {
    state_topic: `${topic}/error`,
    event_types: ['refused'],
    value_template: ifJson(`{'event_type': 'refused', ${REFUSED_FIELDS}} | to_json`),
    icon: 'mdi:alert-circle-outline',
    entity_category: 'diagnostic',
  };
  return [['refused_command', 'event', 'Refused command', fields]];
}
