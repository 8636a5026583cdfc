// Decides what Home Assistant shows of the node's sound: outputs, inputs, the default output, the profiles of
// cards, and the sleep, which ends the music after some minutes. Pure.

import type {
  AudioServerRecord,
  CardRecord,
  InputRecord,
  OutputRecord,
} from '../../protocol/actor/schemas.js';
import { UniqueNames } from '../unique-names.js';
import type { Branch } from './branch.js';
import {
  type AudibleRecord,
  buttonDraft,
  type DisplayedNode,
  type Draft,
  type EntityMembers,
  ifJson,
  selectDraft,
  switchDraft,
  UNKNOWN,
  volumeDraft,
} from './entity-drafts.js';
import { displayName, distinctLabels, slugOf } from './entity-names.js';
import { topicLevel } from './topics.js';

export function soundEntities(node: DisplayedNode): readonly Draft[] {
  const { branch } = node;
  return [
    ...outputsOf(branch).flatMap((output) => outputEntities(node, output)),
    ...inputsOf(branch).flatMap((input) => inputEntities(node, input)),
    ...defaultOutputEntities(node),
    ...sleepEntities(node),
    ...cardEntities(node),
  ];
}

/** An output or input as Home Assistant shows it. */
interface LabelledDevice {
  /** The unique name in topics (branch.ts). */
  readonly name: string;
  /** The unique text for people. */
  readonly label: string;
}

interface LabelledOutputRecord extends LabelledDevice {
  readonly record: OutputRecord;
}

function outputsOf(branch: Branch): readonly LabelledOutputRecord[] {
  const labels = new UniqueNames();
  return branch.namedRecords<OutputRecord>('output').map(({ name, record }) => {
    return { name, label: labels.assign(record.id, displayName(record.label) || displayName(name)), record };
  });
}

function inputsOf(branch: Branch): readonly LabelledDevice[] {
  const labels = new UniqueNames();
  return branch.namedRecords<InputRecord>('input').map(({ name, record: { id, description } }) => {
    return { name, label: labels.assign(id, displayName(description) || displayName(name)) };
  });
}

function serverOf(branch: Branch): AudioServerRecord | undefined {
  return branch.records<AudioServerRecord>('audio.server')[0];
}

function defaultOutputOf(branch: Branch): LabelledOutputRecord | undefined {
  // The sound server knows an output by its record's name, which may differ from the name in topics.
  const recordName = serverOf(branch)?.default_sink;
  return outputsOf(branch).find(({ record }) => record.name === recordName);
}

/**
 * True if the options of the published select `default_output` lack the default output's label. Then the
 * default output is new, or has a new label.
 */
export function isDefaultOutputUnlisted(
  branch: Branch,
  publishedEntities: ReadonlyMap<string, EntityMembers>,
): boolean {
  const label = defaultOutputOf(branch)?.label;
  const options = publishedEntities.get('default_output')?.['options'];
  return label !== undefined && Array.isArray(options) && !options.includes(label);
}

const OUTPUT_ICONS = { volume: 'mdi:volume-high', mute: 'mdi:volume-mute' };
const INPUT_ICONS = { volume: 'mdi:microphone', mute: 'mdi:microphone-off' };

/** The highest volume, in percent, that commands can set; 100 if there is no output, or it has no limit. */
function maxPercentOf(output: OutputRecord | undefined): number {
  return Math.round((output?.volume_limit ?? 1) * 100);
}

function outputEntities(
  node: DisplayedNode,
  { name, label, record }: LabelledOutputRecord,
): readonly Draft[] {
  return volumeAndMute(node, {
    keyPrefix: `output_${slugOf(name)}`,
    relativeTopic: `audio/outputs/${topicLevel(name)}`,
    label,
    maxPercent: maxPercentOf(record),
    icons: OUTPUT_ICONS,
  });
}

function inputEntities(node: DisplayedNode, { name, label }: LabelledDevice): readonly Draft[] {
  return volumeAndMute(node, {
    keyPrefix: `input_${slugOf(name)}`,
    relativeTopic: `audio/inputs/${topicLevel(name)}`,
    label,
    maxPercent: 100,
    icons: INPUT_ICONS,
  });
}

function volumeAndMute(node: DisplayedNode, audible: AudibleRecord): readonly Draft[] {
  const mute = switchDraft(node, {
    key: `${audible.keyPrefix}_mute`,
    name: `${audible.label} mute`,
    topic: `${node.topic}/${audible.relativeTopic}`,
    valueTemplate: ifJson("'ON' if value_json.muted else 'OFF'"),
    commandMember: 'muted',
    icon: audible.icons.mute,
  });
  return [volumeDraft(node, audible), mute];
}

/**
 * The attribute `streams` has at most this many streams, because Home Assistant's history keeps no attributes
 * of more than 16 KiB.
 */
const STREAMS_MAX = 16;

/**
 * This template makes the attribute `streams`. Each stream has its name, its output, and the machine that
 * sends it. If the topic is empty, `value_json` is not defined. `found` is a `namespace`, because Jinja
 * forgets other variables at the end of each round of the loop.
 */
const STREAMS_TEMPLATE = [
  '{% set found = namespace(streams=[]) %}',
  `{% for one in (value_json if value_json is defined else [])[:${STREAMS_MAX}] %}`,
  "{% set fields = {'name': one.name, 'host': one.host | default(''), 'output': one.output | default('')} %}",
  '{% set found.streams = found.streams + [fields] %}',
  '{% endfor %}',
  "{{ {'streams': found.streams} | to_json }}",
].join('');

function defaultOutputEntities(node: DisplayedNode): readonly Draft[] {
  const outputs = outputsOf(node.branch);
  const isServerKnown = serverOf(node.branch) !== undefined;
  // A select needs at least one option.
  if (!isServerKnown || outputs.length === 0) return [];
  const relativeTopic = 'audio/server';
  const topic = `${node.topic}/${relativeTopic}`;
  const select = selectDraft(node, {
    key: 'default_output',
    name: 'Output',
    topic,
    labelsByName: new Map(outputs.map(({ name, label }) => [name, label])),
    stateMember: 'default_sink',
    commandMember: 'output',
    style: {
      // The select also displays which streams play.
      json_attributes_topic: `${node.topic}/audio/clients`,
      json_attributes_template: STREAMS_TEMPLATE,
    },
  });
  const volumeAndMuteDrafts = volumeAndMute(node, {
    keyPrefix: 'default_output',
    relativeTopic,
    label: 'Default output',
    maxPercent: maxPercentOf(defaultOutputOf(node.branch)?.record),
    icons: OUTPUT_ICONS,
  });
  // Volume and mute need a default output. The select is also available without a default output, because
  // people choose the default output there.
  const availableWhile = { topic, expression: 'value_json.default_sink' };
  return [select, ...volumeAndMuteDrafts.map((draft) => ({ ...draft, availableWhile }))];
}

/**
 * The minutes that were left until the end of the sleep when Home Assistant last received the topic. The
 * number is not counted down, because the topic is not published each minute. The number is 0 if no sleep is
 * active, and during the fade, which begins at `until`.
 */
const MINUTES_LEFT =
  '([((as_timestamp(value_json.until) - as_timestamp(now())) / 60) | round(0), 0] | max if value_json.active else 0)';
/** The largest `minutes` of the operation `startSleep` (schemas.ts). */
const SLEEP_MAX_MINUTES = 720;
/** 30 minutes become the command `{"minutes": 30}`. `startSleep` refuses 0, so 0 becomes `stop`. */
const STOP_OR_MINUTES = '{% if value | int < 1 %}stop{% else %}{"minutes": {{ value | int }}}{% endif %}';

function sleepEntities(node: DisplayedNode): readonly Draft[] {
  if (serverOf(node.branch) === undefined) return [];
  const topic = `${node.topic}/audio/sleep`;
  return node.control ? sleepControls(topic) : [sleepEndSensor(topic)];
}

/** The sensor displays the time `until`. It replaces the `sleepControls` if the node accepts no commands. */
function sleepEndSensor(topic: string): Draft {
  const fields = {
    state_topic: topic,
    value_template: ifJson(`value_json.until | default('${UNKNOWN}')`, UNKNOWN),
    icon: 'mdi:sleep',
    device_class: 'timestamp',
    entity_category: 'diagnostic',
  };
  return { key: 'sleep', platform: 'sensor', name: 'Sleep', fields };
}

/** A `number` of minutes until the end of the sleep, and a button. Both 0 and the button stop the sleep. */
function sleepControls(topic: string): readonly Draft[] {
  const commandTopic = `${topic}/set`;
  const minutesFields = {
    state_topic: topic,
    command_topic: commandTopic,
    value_template: ifJson(MINUTES_LEFT, UNKNOWN),
    command_template: STOP_OR_MINUTES,
    unit_of_measurement: 'min',
    min: 0,
    max: SLEEP_MAX_MINUTES,
    step: 1,
    mode: 'box',
    icon: 'mdi:sleep',
  };
  const stopButton = {
    key: 'sleep_stop',
    name: 'Sleep stop',
    commandTopic,
    word: 'stop',
    style: { icon: 'mdi:sleep-off' },
  };
  return [
    { key: 'sleep', platform: 'number', name: 'Sleep', fields: minutesFields },
    buttonDraft(stopButton),
  ];
}

function cardEntities(node: DisplayedNode): readonly Draft[] {
  const cardLabels = new UniqueNames();
  const cards = node.branch
    .namedRecords<CardRecord>('card')
    .filter(({ record }) => record.profiles.length > 1);
  return cards.map(({ name, record }) => {
    const { id, description, profiles } = record;
    const cardLabel = cardLabels.assign(id, displayName(description) || displayName(name));
    // If profiles have the same description, `distinctLabels` adds their names.
    const labelledProfiles = profiles.map((profile) => {
      return { name: profile.name, label: profile.description, addition: profile.name };
    });
    return selectDraft(node, {
      key: `card_${slugOf(name)}`,
      name: `${cardLabel} profile`,
      topic: `${node.topic}/audio/cards/${topicLevel(name)}`,
      labelsByName: distinctLabels(labelledProfiles),
      stateMember: 'active_profile',
      commandMember: 'profile',
      style: { icon: 'mdi:expansion-card-variant', entity_category: 'config' },
    });
  });
}
