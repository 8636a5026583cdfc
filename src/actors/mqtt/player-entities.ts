// The players in Home Assistant: the track of each, its buttons, its cover, volume and shuffle. Pure.

import type { PlayerRecord } from '../../protocol/actor/schemas.js';
import { UniqueNames } from '../unique-names.js';
import {
  type DisplayedNode,
  type Draft,
  ifJson,
  onOff,
  press,
  UNKNOWN,
  volumeEntity,
  whileTrue,
} from './entity-drafts.js';
import { displayName, slugOf } from './entity-names.js';
import { playerName, topicLevel } from './topics.js';

const METADATA = '(value_json.metadata | default({}))';

/** Microseconds as seconds; none where the player does not report them. */
const secondsOf = (value: string): string => `${value} / 1000000 if ${value} is defined else none`;

/**
 * The position is that of `position_updated_at`, from which a card reckons on: the topic is published when
 * something else than time has moved it.
 */
const PLAYER_ATTRIBUTES = [
  `'title': ${METADATA}['xesam:title'] | default('')`,
  `'artist': ${METADATA}['xesam:artist'] | default('')`,
  `'album': ${METADATA}['xesam:album'] | default('')`,
  `'duration': ${secondsOf(`${METADATA}['mpris:length']`)}`,
  `'position': ${secondsOf('value_json.position')}`,
  "'position_updated_at': value_json.position_updated_at | default('')",
].join(', ');

const PLAYER_BUTTONS = [
  ['play_pause', 'play/pause', 'mdi:play-pause'],
  ['stop', 'stop', 'mdi:stop'],
  ['next', 'next', 'mdi:skip-next'],
  ['previous', 'previous', 'mdi:skip-previous'],
] as const;

/** A player may have no volume. */
const PLAYER_PERCENT = '((value_json.volume | default(0)) * 100) | round';

const HAS_COVER = `${METADATA}['mpris:artUrl'] | default('')`;

/** The suffix of a player that may run several times; its number differs at each start. */
const INSTANCE = /\.(?:instance|i)[-_]?\d[-_\d]*$/;

/**
 * Keys begin with a name's constant part, so that a restarted player has its entities again; the second of
 * one name is called `NAME 2`.
 */
export function playerEntities(node: DisplayedNode): readonly Draft[] {
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
    // Home Assistant fetches the cover anew after each message of the topic, so the address needs no mark of
    // the track.
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
