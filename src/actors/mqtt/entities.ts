// What each thing of the node becomes in Home Assistant, as a table: its entities, their keys and their settings. Pure.
// Keys and unique ids follow from the node's identifier and the thing's own name, never from the host's name or address.

import { createHash } from 'node:crypto';
import { BACKEND_STATES, type Backend, type ChildName } from '../../protocol/actor/backends.js';
import type {
  AudioServerRecord,
  OutputRecord,
  PlayerRecord,
  ServiceRecord,
} from '../../protocol/actor/schemas.js';
import { capped } from '../text.js';
import { playerName, topicLevel } from './topics.js';

export type Component = Readonly<Record<string, unknown>> & { readonly platform: string };

/** By key. */
export type Entities = ReadonlyMap<string, Component>;

/** Whose records an entity stands for; undefined: the service's own. */
export type EntityOwner = Backend | undefined;

/** What there is, of backends that are up. */
export interface Things {
  readonly identifier: string;
  /** The node's branch. */
  readonly topic: string;
  /** False: what can only be commanded is left out, and what can be seen is shown only. */
  readonly control: boolean;
  readonly children: readonly ChildName[];
  readonly server: AudioServerRecord | undefined;
  readonly outputs: readonly OutputRecord[];
  readonly services: readonly ServiceRecord[];
  readonly players: readonly PlayerRecord[];
  readonly power: { readonly reboot: boolean; readonly power_off: boolean };
  readonly canUpgrade: boolean;
}

const DEFAULT_OUTPUT = 'default_output';

/** How keys begin, and whose they are. */
const KEY_OWNERS: readonly (readonly [prefix: string, owner: EntityOwner])[] = [
  ['backend_', undefined],
  ['output_', 'audio'],
  [DEFAULT_OUTPUT, 'audio'],
  ['unit_', 'systemd'],
  ['player_', 'players'],
  ['reboot', 'power'],
  ['power_off', 'power'],
  ['update', 'upgrade'],
];

/** Of a name that is shown. */
const NAME_CHARS_MAX = 100;
const SLUG_CHARS_MAX = 64;
const HASH_CHARS = 8;

export function ownerOf(key: string): EntityOwner {
  return KEY_OWNERS.find(([prefix]) => key.startsWith(prefix))?.[1];
}

/** Ordered by key only where Home Assistant shows it so. */
export function entitiesOf(things: Things): Entities {
  const drafts = [
    ...things.outputs.flatMap((output) => outputEntities(things, output)),
    ...defaultOutput(things),
    ...things.services.flatMap((service) => unitEntities(things, service)),
    ...things.players.flatMap((player) => playerEntities(things, player)),
    ...powerButtons(things),
    ...update(things),
    ...things.children.map((child) => childEntity(things, child)),
  ];
  return new Map(drafts.map((draft) => [draft.key, componentOf(things, draft)]));
}

/** Whether the entities of a message read the topic. */
export function isRead(topic: string, entities: Entities): boolean {
  return [...entities.values()].some((component) => component['state_topic'] === topic);
}

/** Whether the default output is one that a select of a message does not offer. */
export function isNotOffered(output: string, entities: Entities): boolean {
  const options = entities.get(DEFAULT_OUTPUT)?.['options'];
  return Array.isArray(options) && !options.includes(output);
}

interface Draft {
  readonly key: string;
  readonly platform: string;
  readonly name: string;
  readonly rest: Readonly<Record<string, unknown>>;
}

/** In the order of the message that was tried. */
function componentOf({ identifier, topic }: Things, { key, platform, name, rest }: Draft): Component {
  const owner = ownerOf(key);
  const online = { topic: `${topic}/status` };
  const up =
    owner === undefined
      ? { availability: [online] }
      : {
          availability: [
            online,
            {
              topic: `${topic}/backends`,
              value_template: `{{ 'online' if value_json.${owner}.state == 'up' else 'offline' }}`,
            },
          ],
          availability_mode: 'all',
        };
  return {
    platform,
    unique_id: `tonearm_${identifier}_${key}`,
    name: shownName(name),
    ...up,
    ...rest,
  };
}

function outputEntities({ topic, control }: Things, output: OutputRecord): readonly Draft[] {
  const stem = `output_${slugOf(output.name, SIMPLE)}`;
  const state = { state_topic: `${topic}/audio/outputs/${topicLevel(output.name)}` };
  const set = { command_topic: `${state.state_topic}/set` };
  const percent = { unit_of_measurement: '%', icon: 'mdi:volume-high' };
  const volume = { ...state, value_template: '{{ (value_json.volume * 100) | round }}' };
  const mute = { ...state, value_template: "{{ 'ON' if value_json.muted else 'OFF' }}" };
  const icon = { icon: 'mdi:volume-mute' };
  const names = { volume: `${output.description} volume`, mute: `${output.description} mute` };
  if (!control) {
    return [
      { key: `${stem}_volume`, platform: 'sensor', name: names.volume, rest: { ...volume, ...percent } },
      { key: `${stem}_mute`, platform: 'binary_sensor', name: names.mute, rest: { ...mute, ...icon } },
    ];
  }
  const slider = {
    command_template: '{"volume": {{ value / 100 }}}',
    min: 0,
    max: 100,
    step: 1,
    mode: 'slider',
  };
  const onOff = { payload_on: '{"muted": true}', payload_off: '{"muted": false}' };
  return [
    {
      key: `${stem}_volume`,
      platform: 'number',
      name: names.volume,
      rest: { ...volume, ...set, ...slider, ...percent },
    },
    {
      key: `${stem}_mute`,
      platform: 'switch',
      name: names.mute,
      rest: { ...mute, state_on: 'ON', state_off: 'OFF', ...set, ...onOff, ...icon },
    },
  ];
}

function defaultOutput({ topic, control, server, outputs }: Things): readonly Draft[] {
  // A select without options is none.
  if (server === undefined || outputs.length === 0) return [];
  const state = { state_topic: `${topic}/audio/server`, value_template: '{{ value_json.default_sink }}' };
  const key = DEFAULT_OUTPUT;
  if (!control) return [{ key, platform: 'sensor', name: 'Output', rest: state }];
  const rest = {
    ...state,
    options: outputs.map(({ name }) => name),
    command_topic: `${topic}/audio/server/set`,
    command_template: '{"output": {{ value | tojson }}}',
  };
  return [{ key, platform: 'select', name: 'Output', rest }];
}

function unitEntities({ topic, control }: Things, { scope, name }: ServiceRecord): readonly Draft[] {
  const key = `unit_${scope}_${slugOf(name, SIMPLE_UNIT)}`;
  const state = { state_topic: `${topic}/services/${scope}/${topicLevel(name)}` };
  if (scope === 'system' || !control) {
    const rest = {
      ...state,
      value_template: "{{ 'ON' if value_json.running else 'OFF' }}",
      device_class: 'running',
      entity_category: 'diagnostic',
    };
    return [{ key, platform: 'binary_sensor', name, rest }];
  }
  const set = { command_topic: `${state.state_topic}/set` };
  return [
    {
      key,
      platform: 'switch',
      name,
      rest: {
        ...state,
        value_template: "{{ 'start' if value_json.running else 'stop' }}",
        state_on: 'start',
        state_off: 'stop',
        ...set,
        payload_on: 'start',
        payload_off: 'stop',
      },
    },
    button(`${key}_restart`, `Restart ${name}`, set.command_topic, 'restart', { device_class: 'restart' }),
  ];
}

const PLAYER_ATTRIBUTES = ['title', 'artist', 'album']
  .map((name) => `'${name}': (value_json.metadata | default({}))['xesam:${name}'] | default('')`)
  .join(', ');

const PLAYER_BUTTONS = [
  ['play_pause', 'play/pause', 'mdi:play-pause'],
  ['next', 'next', 'mdi:skip-next'],
  ['previous', 'previous', 'mdi:skip-previous'],
] as const;

function playerEntities({ topic, control }: Things, player: PlayerRecord): readonly Draft[] {
  const name = playerName(player.bus_name);
  const stem = `player_${slugOf(name, SIMPLE)}`;
  const state = `${topic}/players/${topicLevel(name)}`;
  const rest = {
    state_topic: state,
    value_template: '{{ value_json.playback_status }}',
    device_class: 'enum',
    options: ['Playing', 'Paused', 'Stopped'],
    json_attributes_topic: state,
    json_attributes_template: `{{ {${PLAYER_ATTRIBUTES}} | to_json }}`,
    icon: 'mdi:music',
  };
  const buttons = PLAYER_BUTTONS.map(([word, what, icon]) => {
    const look = { command_topic: `${state}/set`, payload_press: word, icon };
    return { key: `${stem}_${word}`, platform: 'button', name: `${player.identity} ${what}`, rest: look };
  });
  return [
    { key: `${stem}_state`, platform: 'sensor', name: player.identity, rest },
    ...(control ? buttons : []),
  ];
}

function powerButtons({ topic, control, power }: Things): readonly Draft[] {
  if (!control) return [];
  const set = `${topic}/power/set`;
  return [
    ...(power.reboot ? [button('reboot', 'Reboot', set, 'reboot', { device_class: 'restart' })] : []),
    ...(power.power_off ? [button('power_off', 'Power off', set, 'poweroff', { icon: 'mdi:power' })] : []),
  ];
}

function button(
  key: string,
  name: string,
  commandTopic: string,
  payload: string,
  look: Readonly<Record<string, string>>,
): Draft {
  const rest = { command_topic: commandTopic, payload_press: payload, ...look, entity_category: 'config' };
  return { key, platform: 'button', name, rest };
}

const UPDATE_FIELDS = [
  "'installed_version': value_json.current",
  "'latest_version': value_json.latest",
  "'in_progress': value_json.run.state == 'running'",
  "'update_percentage': value_json.run.percent | default(none)",
].join(', ');

function update({ topic, control, canUpgrade }: Things): readonly Draft[] {
  if (!canUpgrade) return [];
  const rest = {
    state_topic: `${topic}/upgrade`,
    value_template: `{{ {${UPDATE_FIELDS}} | to_json }}`,
    ...(control && { command_topic: `${topic}/upgrade/set`, payload_install: 'start' }),
  };
  return [{ key: 'update', platform: 'update', name: 'Software', rest }];
}

function childEntity({ topic }: Things, child: ChildName): Draft {
  const rest = {
    state_topic: `${topic}/backends`,
    value_template: `{{ value_json.${child}.state }}`,
    device_class: 'enum',
    options: BACKEND_STATES,
    entity_category: 'diagnostic',
  };
  const name = `${child.charAt(0).toUpperCase()}${child.slice(1)} backend`;
  return { key: `backend_${child}`, platform: 'sensor', name, rest };
}

/** In whole characters: half of one, cut off or from elsewhere, makes Home Assistant refuse all of the device. */
function shownName(name: string): string {
  return capped(Buffer.from(name).toString(), NAME_CHARS_MAX);
}

const SIMPLE = /^[a-zA-Z0-9_-]{1,64}$/;
const SIMPLE_UNIT = /^[a-zA-Z0-9_-]{1,64}\.[a-z]+$/;

/** A name as part of a key, which is letters, digits, _ and - only. What is not `simple` brings a hash, so that no two meet. */
function slugOf(name: string, simple: RegExp): string {
  const slug = name.replace(/[^a-zA-Z0-9_-]/g, '_');
  if (simple.test(name)) return slug;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_CHARS);
  return `${slug.slice(0, SLUG_CHARS_MAX)}_${hash}`;
}
