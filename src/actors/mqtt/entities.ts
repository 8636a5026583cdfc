// Table of Home Assistant's entities: what each thing of the node is there. Keys and unique ids are made of
// the node's identifier and the thing's own name, never of the host's name or address. Pure.

import { BACKEND_STATES, BACKENDS, type Backend, type ChildName } from '../../protocol/actor/backends.js';
import type {
  AudioServerRecord,
  BluetoothRecord,
  CardRecord,
  InputRecord,
  OutputRecord,
  PlayerRecord,
  ServiceRecord,
  UpgradeRecord,
} from '../../protocol/actor/schemas.js';
import { UniqueNames } from '../unique-names.js';
import type { Branch } from './branch.js';
import { displayName, labelsOf, SIMPLE_UNIT, slugOf } from './entity-names.js';
import { playerName, topicLevel } from './topics.js';

export type Component = Readonly<Record<string, unknown>> & { readonly platform: string };

/** By key. */
export type Entities = ReadonlyMap<string, Component>;

/** The node, whose things become entities: the records of backends that are up. */
interface DisplayedNode {
  readonly identifier: string;
  readonly topic: string;
  /** False: entities that only send commands are left out, and the others are read-only. */
  readonly control: boolean;
  readonly branch: Branch;
  /** Where other machines reach its routes; without a slash at the end. */
  readonly url: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** `also`: a further condition for its availability, an expression over the JSON of a topic. */
type Draft = readonly [key: string, platform: string, name: string, fields: Fields, also?: Condition];

type Condition = readonly [topic: string, expression: string];

/** How the keys of the entities begin that show a backend's records. */
const KEYS: Partial<Readonly<Record<Backend, readonly string[]>>> = {
  audio: ['output_', 'input_', 'card_', 'default_output', 'sleep'],
  systemd: ['unit_'],
  players: ['player_'],
  power: ['reboot', 'power_off'],
  upgrade: ['update'],
  bluetooth: ['bluetooth'],
};

/** Undefined for the service's own. */
export function ownerOf(key: string): Backend | undefined {
  return BACKENDS.find((backend) => KEYS[backend]?.some((beginning) => key.startsWith(beginning)));
}

export function entitiesOf(node: DisplayedNode): Entities {
  const { branch } = node;
  const drafts = [
    ...outputsOf(branch).flatMap((output) => outputEntities(node, output)),
    ...inputsOf(branch).flatMap((input) => inputEntities(node, input)),
    ...defaultOutput(node),
    ...sleepEntities(node),
    ...cardEntities(node),
    ...branch.records<ServiceRecord>('systemd.services').flatMap((service) => unitEntities(node, service)),
    ...playerEntities(node),
    ...powerButtons(node),
    ...branch.records<UpgradeRecord>('upgrade').flatMap((record) => upgradeEntities(node, record)),
    ...branch.records<BluetoothRecord>('bluetooth').flatMap((record) => bluetoothEntities(node, record)),
    ...branch.children.map((child) => childEntity(node, child)),
    ...refusedCommand(node),
  ];
  return new Map(drafts.map((draft) => [draft[0], componentOf(node, draft)]));
}

/** An output as a thing of Home Assistant: no other one has its name or its label. */
interface DisplayedOutput {
  readonly name: string;
  readonly label: string;
  readonly record: OutputRecord;
}

function outputsOf(branch: Branch): readonly DisplayedOutput[] {
  const labels = new UniqueNames();
  return branch.named<OutputRecord>('output').map(({ name, record }) => {
    return { name, label: labels.assign(record.id, displayName(record.label) || displayName(name)), record };
  });
}

interface DisplayedInput {
  readonly name: string;
  readonly label: string;
}

function inputsOf(branch: Branch): readonly DisplayedInput[] {
  const labels = new UniqueNames();
  return branch.named<InputRecord>('input').map(({ name, record: { id, description } }) => {
    return { name, label: labels.assign(id, displayName(description) || displayName(name)) };
  });
}

function serverOf(branch: Branch): AudioServerRecord | undefined {
  return branch.records<AudioServerRecord>('audio.server')[0];
}

/**
 * True if the default output exists but is not an option of this select: it is new, or its name has changed.
 */
export function isNotOffered(branch: Branch, published: Entities): boolean {
  const present = serverOf(branch)?.default_sink;
  const label = outputsOf(branch).find(({ record }) => record.name === present)?.label;
  const options = published.get('default_output')?.['options'];
  return label !== undefined && Array.isArray(options) && !options.includes(label);
}

function componentOf({ identifier, topic }: DisplayedNode, [key, platform, name, fields, also]: Draft) {
  const owner = ownerOf(key);
  const online = { topic: `${topic}/status` };
  const up = { topic: `${topic}/backends`, value_template: onlineIf(`value_json.${owner}.state == 'up'`) };
  const further = also === undefined ? [] : [{ topic: also[0], value_template: onlineIf(also[1]) }];
  const whole = { availability: [online, up, ...further], availability_mode: 'all' };
  const availability = owner === undefined ? { availability: [online] } : whole;
  const unique_id = `tonearm_${identifier}_${key}`;
  return { platform, unique_id, name: displayName(name), ...availability, ...fields };
}

/**
 * Templates are Jinja2. An emptied topic has no JSON, and a missing field is an error: then each gives a
 * replacement, or an empty text.
 */
function ifJson(expression: string, otherwise = ''): string {
  return `{% if value_json is defined %}{{ ${expression} }}{% else %}${otherwise}{% endif %}`;
}

/** A sensor shows this as unknown; an empty text it would not accept. */
const UNKNOWN = 'None';

function onlineIf(expression: string): string {
  return `{{ 'online' if value_json is defined and ${expression} else 'offline' }}`;
}

/**
 * A choice of one of these names: `field` of the state has the present one, and `member` of the command
 * another one.
 */
function select(
  { control }: DisplayedNode,
  [key, name, state]: readonly [key: string, name: string, state: string],
  labels: ReadonlyMap<string, string>,
  [field, member]: readonly [field: string, member: string],
  style: Fields = {},
): Draft {
  // Jinja2 accepts JSON literals.
  const table = (pairs: Iterable<readonly [string, string]>): string =>
    JSON.stringify(Object.fromEntries(pairs));
  const currentLabel = `${table(labels)}[value_json.${field} | default('')] | default('${UNKNOWN}')`;
  const read = { state_topic: state, value_template: ifJson(currentLabel, UNKNOWN), ...style };
  if (!control) {
    const category = style['entity_category'] === undefined ? {} : { entity_category: 'diagnostic' };
    return [key, 'sensor', name, { ...read, ...category }];
  }
  const names = new Map([...labels].map(([each, label]) => [label, each]));
  const command = `{"${member}": {{ ${table(names)}[value] | tojson }}}`;
  const set = { command_topic: `${state}/set`, command_template: command };
  return [key, 'select', name, { ...read, options: [...names.keys()], ...set }];
}

const PERCENT = '(value_json.volume * 100) | round';

/** A thing of sound with a volume and a mute: `key` and `topic` are its own, `max` is in percent. */
interface LoudThing {
  readonly key: string;
  readonly topic: string;
  readonly label: string;
  readonly max: number;
  readonly icons: readonly [volume: string, mute: string];
}

function outputEntities(node: DisplayedNode, { name, label, record }: DisplayedOutput): readonly Draft[] {
  return loudEntities(node, {
    key: `output_${slugOf(name)}`,
    topic: `audio/outputs/${topicLevel(name)}`,
    label,
    // Home Assistant ignores a value above its maximum and logs an error.
    max: Math.round((record.volume_limit ?? 1) * 100),
    icons: ['mdi:volume-high', 'mdi:volume-mute'],
  });
}

function inputEntities(node: DisplayedNode, { name, label }: DisplayedInput): readonly Draft[] {
  return loudEntities(node, {
    key: `input_${slugOf(name)}`,
    topic: `audio/inputs/${topicLevel(name)}`,
    label,
    max: 100,
    icons: ['mdi:microphone', 'mdi:microphone-off'],
  });
}

function loudEntities(node: DisplayedNode, thing: LoudThing): readonly Draft[] {
  const { key, topic, label, icons } = thing;
  const state = `${node.topic}/${topic}`;
  const isMuted = ifJson("'ON' if value_json.muted else 'OFF'");
  return [
    volumeEntity(node, thing),
    onOff(node, [`${key}_mute`, `${label} mute`, state], isMuted, 'muted', icons[1]),
  ];
}

/** `percent` is the expression of its value. */
function volumeEntity({ topic, control }: DisplayedNode, thing: LoudThing, percent = PERCENT): Draft {
  const { key, label, max, icons } = thing;
  const state = { state_topic: `${topic}/${thing.topic}` };
  const set = { command_topic: `${state.state_topic}/set` };
  // A slider needs a maximum above its minimum: where no volume but silence is allowed there is nothing to
  // set.
  const isSettable = control && max > 0;
  const slider = { command_template: '{"volume": {{ value / 100 }}}', min: 0, max, step: 1, mode: 'slider' };
  const value = ifJson(isSettable ? `[${percent}, ${max}] | min` : percent);
  const read = { ...state, value_template: value, unit_of_measurement: '%', icon: icons[0] };
  const fields = isSettable ? { ...read, ...set, ...slider } : read;
  return [`${key}_volume`, isSettable ? 'number' : 'sensor', `${label} volume`, fields];
}

/** A switch of the command's member `member`; without control it is only shown. */
function onOff(
  { control }: DisplayedNode,
  [key, name, state_topic]: readonly [key: string, name: string, state: string],
  value_template: string,
  member: string,
  icon: string,
): Draft {
  const read = { state_topic, value_template, icon };
  if (!control) return [key, 'binary_sensor', name, read];
  const turned = {
    state_on: 'ON',
    state_off: 'OFF',
    payload_on: `{"${member}": true}`,
    payload_off: `{"${member}": false}`,
  };
  return [key, 'switch', name, { ...read, command_topic: `${state_topic}/set`, ...turned }];
}

/** The draft, unavailable while the condition does not hold. */
function whileTrue([key, platform, name, fields]: Draft, condition: Condition): Draft {
  return [key, platform, name, fields, condition];
}

/** Home Assistant keeps each change of an attribute, and leaves out attributes above 16 KiB. */
const ATTRIBUTE_STREAMS_MAX = 16;

/** The streams that play: where each one does, and which machine sends it. */
const STREAM_ATTRIBUTES = [
  '{% set found = namespace(streams=[]) %}',
  `{% for one in (value_json if value_json is defined else [])[:${ATTRIBUTE_STREAMS_MAX}] %}`,
  "{% set fields = {'name': one.name, 'host': one.host | default(''), 'output': one.output | default('')} %}",
  '{% set found.streams = found.streams + [fields] %}',
  '{% endfor %}',
  "{{ {'streams': found.streams} | to_json }}",
].join('');

function defaultOutput(node: DisplayedNode): readonly Draft[] {
  const outputs = outputsOf(node.branch);
  const labels = new Map(outputs.map(({ name, label }) => [name, label]));
  const server = serverOf(node.branch);
  // A select needs at least one option.
  if (server === undefined || labels.size === 0) return [];
  const what = ['default_output', 'Output', `${node.topic}/audio/server`] as const;
  const style = {
    json_attributes_topic: `${node.topic}/audio/clients`,
    json_attributes_template: STREAM_ATTRIBUTES,
  };
  const { default_sink: present } = server;
  const record = outputs.find((output) => output.record.name === present)?.record;
  const topic = 'audio/server';
  const loud = loudEntities(node, {
    key: 'default_output',
    topic,
    label: 'Default output',
    max: Math.round((record?.volume_limit ?? 1) * 100),
    icons: ['mdi:volume-high', 'mdi:volume-mute'],
  });
  const exists: Condition = [`${node.topic}/${topic}`, 'value_json.default_sink'];
  return [
    select(node, what, labels, ['default_sink', 'output'], style),
    ...loud.map((draft) => whileTrue(draft, exists)),
  ];
}

/** The minutes that are left as they were at the last change: nothing announces each of them. */
const MINUTES_LEFT =
  '(((as_timestamp(value_json.until) - as_timestamp(now())) / 60) | round(0) if value_json.active else 0)';

/** Without control a time. */
function sleepEntities({ topic, control, branch }: DisplayedNode): readonly Draft[] {
  if (serverOf(branch) === undefined) return [];
  const state_topic = `${topic}/audio/sleep`;
  const icon = 'mdi:sleep';
  if (!control) {
    const value_template = ifJson(`value_json.until | default('${UNKNOWN}')`, UNKNOWN);
    const fields = {
      state_topic,
      value_template,
      icon,
      device_class: 'timestamp',
      entity_category: 'diagnostic',
    };
    return [['sleep', 'sensor', 'Sleep', fields]];
  }
  const set = { command_topic: `${state_topic}/set` };
  const minutes = {
    value_template: ifJson(MINUTES_LEFT, UNKNOWN),
    command_template: '{% if value | int < 1 %}stop{% else %}{"minutes": {{ value | int }}}{% endif %}',
    unit_of_measurement: 'min',
    min: 0,
    max: 720,
    step: 1,
    mode: 'box',
  };
  return [
    ['sleep', 'number', 'Sleep', { state_topic, ...set, ...minutes, icon }],
    ['sleep_stop', 'button', 'Sleep stop', { ...set, payload_press: 'stop', icon: 'mdi:sleep-off' }],
  ];
}

function cardEntities(node: DisplayedNode): readonly Draft[] {
  const cardLabels = new UniqueNames();
  const cards = node.branch.named<CardRecord>('card').filter(({ record }) => record.profiles.length > 1);
  return cards.map(({ name, record }) => {
    const { id, description, profiles } = record;
    const card = cardLabels.assign(id, displayName(description) || displayName(name));
    const state = `${node.topic}/audio/cards/${topicLevel(name)}`;
    const what = [`card_${slugOf(name)}`, `${card} profile`, state] as const;
    const labels = labelsOf(profiles.map((each) => [each.name, each.description, each.name]));
    const style = { icon: 'mdi:expansion-card-variant', entity_category: 'config' };
    return select(node, what, labels, ['active_profile', 'profile'], style);
  });
}

function press(key: string, name: string, to: string, word: string, style: Fields): Draft {
  return [key, 'button', name, { command_topic: to, payload_press: word, ...style }];
}

/** A switch that sends a word for each state, and whose value template gives the same words. */
function turns(to: string, on: string, off: string): Fields {
  return { state_on: on, state_off: off, command_topic: to, payload_on: on, payload_off: off };
}

function unitEntities({ topic, control }: DisplayedNode, { scope, name }: ServiceRecord): readonly Draft[] {
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

const PLAYER_ATTRIBUTES = ['title', 'artist', 'album']
  .map((name) => `'${name}': (value_json.metadata | default({}))['xesam:${name}'] | default('')`)
  .join(', ');

const PLAYER_BUTTONS = [
  ['play_pause', 'play/pause', 'mdi:play-pause'],
  ['stop', 'stop', 'mdi:stop'],
  ['next', 'next', 'mdi:skip-next'],
  ['previous', 'previous', 'mdi:skip-previous'],
] as const;

/** A player may have no volume. */
const PLAYER_PERCENT = '((value_json.volume | default(0)) * 100) | round';

const HAS_COVER = "(value_json.metadata | default({}))['mpris:artUrl'] | default('')";

/** The suffix of a player that may run several times; its number differs at each start. */
const INSTANCE = /\.(?:instance|i)[-_]?\d[-_\d]*$/;

/**
 * Keys begin with a name's constant part, so that a restarted player has its entities again; the second of
 * one name is called `NAME 2`.
 */
function playerEntities(node: DisplayedNode): readonly Draft[] {
  const { topic, control, branch } = node;
  const counts = new Map<string, number>();
  const labels = new UniqueNames();
  return branch.records<PlayerRecord>('players').flatMap((player, at) => {
    const name = playerName(player.bus_name);
    const constant = name.replace(INSTANCE, '');
    const count = (counts.get(constant) ?? 0) + 1;
    counts.set(constant, count);
    const stem = `player_${slugOf(count === 1 ? constant : `${constant} ${count}`)}`;
    const identity = labels.assign(at + 1, displayName(player.identity) || name);
    const state = `${topic}/players/${topicLevel(name)}`;
    const fields = {
      state_topic: state,
      value_template: ifJson('value_json.playback_status', UNKNOWN),
      device_class: 'enum',
      options: ['Playing', 'Paused', 'Stopped'],
      icon: 'mdi:music',
      json_attributes_topic: state,
      json_attributes_template: ifJson(`{${PLAYER_ATTRIBUTES}} | to_json`, '{}'),
    };
    const buttons = PLAYER_BUTTONS.map(([word, what, icon]) =>
      press(`${stem}_${word}`, `${identity} ${what}`, `${state}/set`, word, { icon }),
    );
    return [
      [`${stem}_state`, 'sensor', identity, fields] as const,
      ...playerSettings(node, name, stem, identity),
      ...(control ? buttons : []),
    ];
  });
}

/** Its cover, volume and shuffle, each available while the player has one. */
function playerSettings(node: DisplayedNode, name: string, stem: string, identity: string): readonly Draft[] {
  const own = `players/${topicLevel(name)}`;
  const state = `${node.topic}/${own}`;
  const cover = {
    url_topic: state,
    // It is fetched anew after each message of the topic, so it needs no mark of the track.
    url_template: `${node.url}/players/${encodeURIComponent(name)}/cover`,
  };
  const icons = ['mdi:volume-high', 'mdi:volume-mute'] as const;
  const loud = { key: stem, topic: own, label: identity, max: 100, icons };
  const volume = volumeEntity(node, loud, PLAYER_PERCENT);
  const isShuffled = ifJson("'ON' if value_json.shuffle | default(false) else 'OFF'");
  const what = [`${stem}_shuffle`, `${identity} shuffle`, state] as const;
  const shuffle = onOff(node, what, isShuffled, 'shuffle', 'mdi:shuffle');
  return [
    [`${stem}_cover`, 'image', `${identity} cover`, cover, [state, HAS_COVER]],
    whileTrue(volume, [state, 'value_json.volume is defined']),
    whileTrue(shuffle, [state, 'value_json.shuffle is defined']),
  ];
}

function powerButtons({ topic, control, branch }: DisplayedNode): readonly Draft[] {
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
 * Home Assistant offers an update where it takes the latest version for newer than the installed one:
 * AwesomeVersion says so, which it has in templates too. The node's own verdict decides: without an update
 * the latest version is shown as the installed one, and with one that Home Assistant would not offer, the
 * text is made one that it cannot compare, which it takes for newer.
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

function upgradeEntities(node: DisplayedNode, record: UpgradeRecord): readonly Draft[] {
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

function bluetoothEntities({ topic, control }: DisplayedNode, record: BluetoothRecord): readonly Draft[] {
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

/** Names that are not simply capitalized. */
const CHILD_LABELS: Partial<Readonly<Record<ChildName, string>>> = { mqtt: 'MQTT', systemd: 'systemd' };

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
