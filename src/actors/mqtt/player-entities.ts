// Decides what Home Assistant shows of each player: playback status, track, cover, volume, shuffle and
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
  /** The keys of the player's entities begin with this prefix. */
  readonly keyPrefix: string;
  /** No other player has this label. */
  readonly label: string;
  /** Relative to the node's topic. */
  readonly relativeTopic: string;
}

/**
 * If a player can run several times at once, its bus name ends with a suffix like `.instance12345`,
 * `.instance_1_84` or `.i4711`. The number in the suffix changes with each start.
 */
const INSTANCE_SUFFIX = /\.(?:instance|i)[-_]?\d[-_\d]*$/;

/**
 * The keys of a player's entities are made from its bus name without `INSTANCE_SUFFIX`, so that the keys are
 * the same after its next start. If two players have the same name without suffix, the keys of the second
 * player are made from `NAME 2`. If two players have the same label, the label of the second player ends with
 * the place of this player among all players, as in `mpv #3`.
 */
function playersOf(branch: Branch): readonly DisplayedPlayer[] {
  const counts = new Map<string, number>();
  const labels = new UniqueNames();
  return branch.records<PlayerRecord>('players').map(({ bus_name: busName, identity }, index) => {
    const name = playerName(busName);
    const lastingName = name.replace(INSTANCE_SUFFIX, '');
    const count = (counts.get(lastingName) ?? 0) + 1;
    counts.set(lastingName, count);
    const nameForKeys = count === 1 ? lastingName : `${lastingName} ${count}`;
    return {
      name,
      keyPrefix: `player_${slugOf(nameForKeys)}`,
      label: labels.assign(index + 1, displayName(identity) || name),
      relativeTopic: `players/${topicLevel(name)}`,
    };
  });
}

const METADATA = '(value_json.metadata | default({}))';

/**
 * All values of metadata are texts. If a text is no number, `float(0)` gives 0. `float` without an argument
 * would fail.
 */
const LENGTH_S = `${METADATA}['mpris:length'] | default(0) | float(0) / 1000000`;
/**
 * The track's length in seconds; `none` if it is unknown or not positive. A length of 9007199254 s (2^53
 * microseconds) or more also becomes `none`, because players report the largest possible number for a stream
 * without an end.
 */
const DURATION = `([${LENGTH_S}] | select('gt', 0) | select('lt', 9007199254) | first | default(none))`;

/**
 * `position` is the position at the time `position_updated_at`, because the topic is not published anew while
 * a track plays on. A card of Home Assistant computes the present position from these two attributes.
 */
const TRACK_ATTRIBUTES = [
  `'title': ${METADATA}['xesam:title'] | default('')`,
  `'artist': ${METADATA}['xesam:artist'] | default('')`,
  `'album': ${METADATA}['xesam:album'] | default('')`,
  `'duration': ${DURATION}`,
  "'position': value_json.position / 1000000 if value_json.position is defined else none",
  "'position_updated_at': value_json.position_updated_at | default('')",
].join(', ');

function stateSensor(node: DisplayedNode, { keyPrefix, label, relativeTopic }: DisplayedPlayer): Draft {
  const topic = `${node.topic}/${relativeTopic}`;
  return {
    key: `${keyPrefix}_state`,
    platform: 'sensor',
    name: label,
    fields: {
      state_topic: topic,
      value_template: ifJson('value_json.playback_status', UNKNOWN),
      device_class: 'enum',
      options: ['Playing', 'Paused', 'Stopped'],
      icon: 'mdi:music',
      json_attributes_topic: topic,
      json_attributes_template: ifJson(`{${TRACK_ATTRIBUTES}} | to_json`, '{}'),
    },
  };
}

function coverImage(node: DisplayedNode, player: DisplayedPlayer): Draft {
  const { name, keyPrefix, label, relativeTopic } = player;
  const topic = `${node.topic}/${relativeTopic}`;
  return {
    key: `${keyPrefix}_cover`,
    platform: 'image',
    name: `${label} cover`,
    fields: {
      url_topic: topic,
      // The address can stay the same for all tracks, because Home Assistant fetches the cover again after
      // each message of the topic.
      url_template: `${node.url}/players/${encodeURIComponent(name)}/cover`,
    },
    availableWhile: { topic, expression: `${METADATA}['mpris:artUrl'] | default('')` },
  };
}

/** A player may have no volume. */
const VOLUME_PERCENT = '((value_json.volume | default(0)) * 100) | round';

function playerVolume(node: DisplayedNode, { keyPrefix, label, relativeTopic }: DisplayedPlayer): Draft {
  const icons = { volume: 'mdi:volume-high', mute: 'mdi:volume-mute' };
  const audiblePlayer = { keyPrefix, relativeTopic, label, maxPercent: 100, icons };
  const draft = volumeDraft(node, audiblePlayer, VOLUME_PERCENT);
  const topic = `${node.topic}/${relativeTopic}`;
  return { ...draft, availableWhile: { topic, expression: 'value_json.volume is defined' } };
}

function shuffleSwitch(node: DisplayedNode, player: DisplayedPlayer): Draft {
  const topic = `${node.topic}/${player.relativeTopic}`;
  const draft = switchDraft(node, {
    key: `${player.keyPrefix}_shuffle`,
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
      key: `${player.keyPrefix}_${word}`,
      name: `${player.label} ${label}`,
      commandTopic: `${node.topic}/${player.relativeTopic}/set`,
      word,
      style: { icon },
    }),
  );
}
