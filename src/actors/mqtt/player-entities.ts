// Decides what Home Assistant shows of each player: its track, its cover, its volume and shuffle, and its
// buttons. Pure.

import type { PlayerRecord } from '../../protocol/actor/schemas.js';
import { UniqueNames } from '../unique-names.js';
import type { Branch } from './branch.js';
import {
  buttonDraft,
  type DisplayedNode,
  type Draft,
  ifJson,
  switchDraft,
  UNKNOWN,
  volumeDraft,
} from './entity-drafts.js';
import { displayName, slugOf } from './entity-names.js';
import { playerName, topicLevel } from './topics.js';

export function playerEntities(node: DisplayedNode): readonly Draft[] {
  return playersOf(node.branch).flatMap((player) => [
    stateSensor(node, player),
    coverImage(node, player),
    playerVolume(node, player),
    shuffleSwitch(node, player),
    ...(node.control ? playerButtons(node, player) : []),
  ]);
}

interface DisplayedPlayer {
  /** The bus name without MPRIS' prefix. */
  readonly name: string;
  /** How the keys of its entities begin. */
  readonly key: string;
  /** No other player has this label. */
  readonly label: string;
  /** Relative to the node's topic. */
  readonly topic: string;
}

/** The suffix of a player that may run several times. It has a number that changes with each start. */
const INSTANCE = /\.(?:instance|i)[-_]?\d[-_\d]*$/;

/**
 * A key has the bus name without such a suffix, so that a player that is started anew has the same entities
 * as before. If two players have the same name without it, the key of the second is that of `NAME 2`.
 */
function playersOf(branch: Branch): readonly DisplayedPlayer[] {
  const counts = new Map<string, number>();
  const labels = new UniqueNames();
  return branch.records<PlayerRecord>('players').map(({ bus_name: busName, identity }, index) => {
    const name = playerName(busName);
    const lastingName = name.replace(INSTANCE, '');
    const count = (counts.get(lastingName) ?? 0) + 1;
    counts.set(lastingName, count);
    return {
      name,
      key: `player_${slugOf(count === 1 ? lastingName : `${lastingName} ${count}`)}`,
      label: labels.assign(index + 1, displayName(identity) || name),
      topic: `players/${topicLevel(name)}`,
    };
  });
}

const METADATA = '(value_json.metadata | default({}))';

/** An expression of microseconds as one of seconds; `none` where the player does not report them. */
const secondsOf = (microseconds: string): string =>
  `${microseconds} / 1000000 if ${microseconds} is defined else none`;

/**
 * The topic is not published while time passes, so `position` is the position at `position_updated_at`. A
 * card computes the present one from both.
 */
const TRACK_ATTRIBUTES = [
  `'title': ${METADATA}['xesam:title'] | default('')`,
  `'artist': ${METADATA}['xesam:artist'] | default('')`,
  `'album': ${METADATA}['xesam:album'] | default('')`,
  `'duration': ${secondsOf(`${METADATA}['mpris:length']`)}`,
  `'position': ${secondsOf('value_json.position')}`,
  "'position_updated_at': value_json.position_updated_at | default('')",
].join(', ');

function stateSensor(node: DisplayedNode, { key, label, topic }: DisplayedPlayer): Draft {
  const state = `${node.topic}/${topic}`;
  return {
    key: `${key}_state`,
    platform: 'sensor',
    name: label,
    fields: {
      state_topic: state,
      value_template: ifJson('value_json.playback_status', UNKNOWN),
      device_class: 'enum',
      options: ['Playing', 'Paused', 'Stopped'],
      icon: 'mdi:music',
      json_attributes_topic: state,
      json_attributes_template: ifJson(`{${TRACK_ATTRIBUTES}} | to_json`, '{}'),
    },
  };
}

function coverImage(node: DisplayedNode, { name, key, label, topic }: DisplayedPlayer): Draft {
  const state = `${node.topic}/${topic}`;
  return {
    key: `${key}_cover`,
    platform: 'image',
    name: `${label} cover`,
    fields: {
      url_topic: state,
      // Home Assistant fetches the cover anew after each message of the topic, so the address may be the same
      // for all tracks.
      url_template: `${node.url}/players/${encodeURIComponent(name)}/cover`,
    },
    availableWhile: { topic: state, expression: `${METADATA}['mpris:artUrl'] | default('')` },
  };
}

/** The expression of a player's volume. It has a default, because a player may have no volume. */
const VOLUME_PERCENT = '((value_json.volume | default(0)) * 100) | round';

function playerVolume(node: DisplayedNode, { key, label, topic }: DisplayedPlayer): Draft {
  const icons = { volume: 'mdi:volume-high', mute: 'mdi:volume-mute' };
  const draft = volumeDraft(node, { key, topic, label, maxPercent: 100, icons }, VOLUME_PERCENT);
  const hasVolume = 'value_json.volume is defined';
  return { ...draft, availableWhile: { topic: `${node.topic}/${topic}`, expression: hasVolume } };
}

function shuffleSwitch(node: DisplayedNode, player: DisplayedPlayer): Draft {
  const topic = `${node.topic}/${player.topic}`;
  const draft = switchDraft(node, {
    key: `${player.key}_shuffle`,
    name: `${player.label} shuffle`,
    topic,
    valueTemplate: ifJson("'ON' if value_json.shuffle | default(false) else 'OFF'"),
    commandMember: 'shuffle',
    icon: 'mdi:shuffle',
  });
  return { ...draft, availableWhile: { topic, expression: 'value_json.shuffle is defined' } };
}

const BUTTONS = [
  { word: 'play_pause', label: 'play/pause', icon: 'mdi:play-pause' },
  { word: 'stop', label: 'stop', icon: 'mdi:stop' },
  { word: 'next', label: 'next', icon: 'mdi:skip-next' },
  { word: 'previous', label: 'previous', icon: 'mdi:skip-previous' },
] as const;

function playerButtons(node: DisplayedNode, player: DisplayedPlayer): readonly Draft[] {
  return BUTTONS.map(({ word, label, icon }) =>
    buttonDraft({
      key: `${player.key}_${word}`,
      name: `${player.label} ${label}`,
      commandTopic: `${node.topic}/${player.topic}/set`,
      word,
      style: { icon },
    }),
  );
}
