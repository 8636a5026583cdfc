// Table of the Home Assistant entities for each thing of the node, with keys and settings. Pure.
// Keys and unique ids are built from the node's identifier and the thing's own name, never from the host's name or address.

import { BACKEND_STATES, type Backend, type ChildName } from '../../protocol/actor/backends.js';
import type { PlayerRecord, ServiceRecord } from '../../protocol/actor/schemas.js';
import { bluetoothEntities } from './bluetooth-entities.js';
import { CARD_PREFIX, cardEntities } from './card-entities.js';
import {
  type Component,
  type Draft,
  type Entities,
  type EntitySources,
  SIMPLE,
  SIMPLE_UNIT,
  shownName,
  slugOf,
} from './drafts.js';
import { DEFAULT_OUTPUT, defaultOutput, outputEntities } from './output-entities.js';
import { ifJson, onlineIf, UNKNOWN } from './templates.js';
import { playerName, topicLevel } from './topics.js';

/** The backend whose records an entity shows; undefined for the service's own. */
export type EntityOwner = Backend | undefined;

const KEY_OWNERS: readonly (readonly [prefix: string, owner: EntityOwner])[] = [
  ['backend_', undefined],
  ['output_', 'audio'],
  [CARD_PREFIX, 'audio'],
  [DEFAULT_OUTPUT, 'audio'],
  ['unit_', 'systemd'],
  ['player_', 'players'],
  ['reboot', 'power'],
  ['power_off', 'power'],
  ['update', 'upgrade'],
  ['bluetooth', 'bluetooth'],
];

export function ownerOf(key: string): EntityOwner {
  return KEY_OWNERS.find(([prefix]) => key.startsWith(prefix))?.[1];
}

/** In the order of the table; only the message sorts them by key. */
export function entitiesOf(things: EntitySources): Entities {
  const drafts = [
    ...things.outputs.flatMap((output) => outputEntities(things, output)),
    ...defaultOutput(things),
    ...things.cards.flatMap((card) => cardEntities(things, card)),
    ...things.services.flatMap((service) => unitEntities(things, service)),
    ...playerStems(things.players).flatMap(([player, stem]) => playerEntities(things, player, stem)),
    ...powerButtons(things),
    ...update(things),
    ...bluetoothEntities(things),
    ...things.children.map((child) => childEntity(things, child)),
  ];
  return new Map(drafts.map((draft) => [draft.key, componentOf(things, draft)]));
}

export function isRead(topic: string, entities: Entities): boolean {
  return [...entities.values()].some((component) => component['state_topic'] === topic);
}

/** Fields in the order of the message that was tested. */
function componentOf(
  { identifier, topic }: EntitySources,
  { key, platform, name, rest, also }: Draft,
): Component {
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
              value_template: onlineIf(`value_json.${owner}.state == 'up'`),
            },
            ...(also === undefined ? [] : [also]),
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

function unitEntities({ topic, control }: EntitySources, { scope, name }: ServiceRecord): readonly Draft[] {
  const key = `unit_${scope}_${slugOf(name, SIMPLE_UNIT)}`;
  const state = { state_topic: `${topic}/services/${scope}/${topicLevel(name)}` };
  const also = { topic: state.state_topic, value_template: onlineIf('value_json.exists') };
  if (scope === 'system' || !control) {
    const rest = {
      ...state,
      value_template: ifJson("'ON' if value_json.running else 'OFF'"),
      device_class: 'running',
      entity_category: 'diagnostic',
    };
    return [{ key, platform: 'binary_sensor', name, rest, also }];
  }
  const set = { command_topic: `${state.state_topic}/set` };
  return [
    {
      key,
      platform: 'switch',
      name,
      rest: {
        ...state,
        value_template: ifJson("'start' if value_json.running else 'stop'"),
        state_on: 'start',
        state_off: 'stop',
        ...set,
        payload_on: 'start',
        payload_off: 'stop',
      },
      also,
    },
    {
      ...button(`${key}_restart`, `Restart ${name}`, set.command_topic, 'restart', {
        device_class: 'restart',
      }),
      also,
    },
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

/** The suffix of a player that may run several times; its number differs at each start. */
const INSTANCE = /\.(?:instance|i)[-_]?\d[-_\d]*$/;

/**
 * Keys begin with the constant part of a player's name, so that a restarted player gets its entities again. The second player of one
 * name is called `NAME 2`, and so on.
 */
function playerStems(players: readonly PlayerRecord[]): readonly (readonly [PlayerRecord, string])[] {
  const seen = new Map<string, number>();
  return players.map((player) => {
    const name = playerName(player.bus_name).replace(INSTANCE, '');
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return [player, `player_${slugOf(count === 1 ? name : `${name} ${count}`, SIMPLE)}`];
  });
}

function playerEntities(
  { topic, control }: EntitySources,
  player: PlayerRecord,
  stem: string,
): readonly Draft[] {
  const name = playerName(player.bus_name);
  const identity = player.identity === '' ? name : player.identity;
  const state = `${topic}/players/${topicLevel(name)}`;
  const rest = {
    state_topic: state,
    value_template: ifJson('value_json.playback_status', UNKNOWN),
    device_class: 'enum',
    options: ['Playing', 'Paused', 'Stopped'],
    json_attributes_topic: state,
    json_attributes_template: ifJson(`{${PLAYER_ATTRIBUTES}} | to_json`, '{}'),
    icon: 'mdi:music',
  };
  const buttons = PLAYER_BUTTONS.map(([word, what, icon]) => {
    const look = { command_topic: `${state}/set`, payload_press: word, icon };
    return { key: `${stem}_${word}`, platform: 'button', name: `${identity} ${what}`, rest: look };
  });
  return [{ key: `${stem}_state`, platform: 'sensor', name: identity, rest }, ...(control ? buttons : [])];
}

function powerButtons({ topic, control, power }: EntitySources): readonly Draft[] {
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

/** Without a result file the version is an empty text, which means that it is unknown. */
const HAS_RESULT = 'value_json is defined and value_json.current';

function update({ topic, control, canUpgrade }: EntitySources): readonly Draft[] {
  if (!canUpgrade) return [];
  const state = `${topic}/upgrade`;
  const rest = {
    state_topic: state,
    value_template: `{% if ${HAS_RESULT} %}{{ {${UPDATE_FIELDS}} | to_json }}{% endif %}`,
    ...(control && { command_topic: `${state}/set`, payload_install: 'start' }),
  };
  const also = { topic: state, value_template: onlineIf('value_json.current') };
  return [{ key: 'update', platform: 'update', name: 'Software', rest, also }];
}

/** Names that are not simply capitalized. */
const CHILD_NAMES_SHOWN: Partial<Readonly<Record<ChildName, string>>> = { mqtt: 'MQTT', systemd: 'systemd' };

function childEntity({ topic }: EntitySources, child: ChildName): Draft {
  const rest = {
    state_topic: `${topic}/backends`,
    value_template: ifJson(`value_json.${child}.state`, UNKNOWN),
    device_class: 'enum',
    options: BACKEND_STATES,
    entity_category: 'diagnostic',
  };
  const name = CHILD_NAMES_SHOWN[child] ?? `${child.charAt(0).toUpperCase()}${child.slice(1)}`;
  return { key: `backend_${child}`, platform: 'sensor', name: `${name} backend`, rest };
}
