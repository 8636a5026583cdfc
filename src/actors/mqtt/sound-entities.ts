// The node's sound in Home Assistant: outputs, inputs, the default output, the sleep, profiles of cards.
// Pure.

import type {
  AudioServerRecord,
  CardRecord,
  InputRecord,
  OutputRecord,
} from '../../protocol/actor/schemas.js';
import { UniqueNames } from '../unique-names.js';
import type { Branch } from './branch.js';
import {
  type Condition,
  type DisplayedNode,
  type Draft,
  type Fields,
  ifJson,
  type LoudThing,
  onOff,
  select,
  UNKNOWN,
  volumeEntity,
  whileTrue,
} from './entity-drafts.js';
import { displayName, labelsOf, slugOf } from './entity-names.js';
import { topicLevel } from './topics.js';

export function soundEntities(node: DisplayedNode): readonly Draft[] {
  const { branch } = node;
  return [
    ...outputsOf(branch).flatMap((output) => outputEntities(node, output)),
    ...inputsOf(branch).flatMap((input) => inputEntities(node, input)),
    ...defaultOutput(node),
    ...sleepEntities(node),
    ...cardEntities(node),
  ];
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
 * True if the default output exists but is not an option of its select: it is new, or its name has changed.
 */
export function isNotOffered(branch: Branch, published: ReadonlyMap<string, Fields>): boolean {
  const present = serverOf(branch)?.default_sink;
  const label = outputsOf(branch).find(({ record }) => record.name === present)?.label;
  const options = published.get('default_output')?.['options'];
  return label !== undefined && Array.isArray(options) && !options.includes(label);
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

/** Home Assistant keeps each change of an attribute, and leaves out attributes above 16 KiB. */
const ATTRIBUTE_STREAMS_MAX = 16;

/** The streams that play, each with its output and the machine that sends it. */
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

/** The minutes that were left at the last change. No message announces each minute that passes. */
const MINUTES_LEFT =
  '(((as_timestamp(value_json.until) - as_timestamp(now())) / 60) | round(0) if value_json.active else 0)';

/** The sleep; without control only the time of its end. */
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
