// Decides what the draft of an entity for Home Assistant consists of (`Draft`). Makes the drafts that several
// kinds of records need. Pure.

import type { Branch } from './branch.js';

/** The records of this node become entities. `branch` has no records of a backend that is not up. */
export interface DisplayedNode {
  readonly identifier: string;
  readonly topic: string;
  /** If false, no entity sends commands: buttons are left out, and all other entities only display values. */
  readonly control: boolean;
  readonly branch: Branch;
  /** Other machines reach the node's routes at this URL. It has no slash at the end. */
  readonly url: string;
}

/** Members of an entity, with the names that Home Assistant's MQTT discovery uses. */
export type EntityMembers = Readonly<Record<string, unknown>>;

/** An entity without the members that all entities have. The file entities.ts adds those members. */
export interface Draft {
  /** No other entity of the node has this key. The entity's unique id ends with it. */
  readonly key: string;
  /** The kind of entity in Home Assistant, such as `switch`. */
  readonly platform: string;
  readonly name: string;
  readonly fields: EntityMembers;
  /** The entity is available only while this condition holds. */
  readonly availableWhile?: Condition;
}

/** The condition holds while the expression over the topic's JSON is true. */
interface Condition {
  readonly topic: string;
  readonly expression: string;
}

/**
 * A template in Jinja2 that gives the value of the expression. The expression reads the topic's JSON as
 * `value_json`. An emptied topic has no JSON, so the template then has the value `otherwise`. The expression
 * must have a `default` for each member that may be missing, because a missing member is an error.
 */
export function ifJson(expression: string, otherwise = ''): string {
  return `{% if value_json is defined %}{{ ${expression} }}{% else %}${otherwise}{% endif %}`;
}

/** A sensor displays its state as unknown if it gets this text. A sensor does not accept an empty text. */
export const UNKNOWN = 'None';

export function availabilityTemplate(expression: string): string {
  return `{{ 'online' if value_json is defined and ${expression} else 'offline' }}`;
}

/** The choice of one name among several. */
interface SelectChoice {
  readonly key: string;
  readonly name: string;
  readonly topic: string;
  /** Texts for people, by the name that the node uses. No two texts are equal. */
  readonly labelsByName: ReadonlyMap<string, string>;
  /** This member of the topic's JSON has the current name. */
  readonly stateMember: string;
  /** This member of a command has the new name. */
  readonly commandMember: string;
  /** Further members of the entity, such as `icon` or `entity_category`. */
  readonly style: EntityMembers;
}

export function selectDraft({ control }: DisplayedNode, choice: SelectChoice): Draft {
  const { key, name, topic, labelsByName, stateMember, commandMember, style } = choice;
  // An example: `{"hdmi":"TV"}[value_json.default_sink | default('')] | default('None')`. The first
  // `default` is for a missing member, the second for a name without a label.
  const labelExpression = `${jinjaTable(labelsByName)}[value_json.${stateMember} | default('')] | default('${UNKNOWN}')`;
  const stateFields = { state_topic: topic, value_template: ifJson(labelExpression, UNKNOWN), ...style };
  if (!control) {
    // Home Assistant allows a sensor in the category `diagnostic`, but not in `config`.
    const hasCategory = style['entity_category'] !== undefined;
    const category = hasCategory ? { entity_category: 'diagnostic' } : {};
    return { key, platform: 'sensor', name, fields: { ...stateFields, ...category } };
  }
  const namesByLabel = new Map([...labelsByName].map(([nameOnNode, label]) => [label, nameOnNode]));
  // An example: `{"output": {{ {"TV":"hdmi"}[value] | tojson }}}`.
  const command = `{"${commandMember}": {{ ${jinjaTable(namesByLabel)}[value] | tojson }}}`;
  const commandFields = { command_topic: `${topic}/set`, command_template: command };
  return {
    key,
    platform: 'select',
    name,
    fields: { ...stateFields, options: [...namesByLabel.keys()], ...commandFields },
  };
}

/** Returns a dictionary of Jinja2, which is written like an object of JSON. */
function jinjaTable(entries: ReadonlyMap<string, string>): string {
  return JSON.stringify(Object.fromEntries(entries));
}

/** An output, an input, the default output or a player. */
export interface AudibleRecord {
  /** The keys of the record's entities begin with this prefix. */
  readonly keyPrefix: string;
  /** Relative to the node's topic. */
  readonly relativeTopic: string;
  readonly label: string;
  readonly maxPercent: number;
  readonly icons: { readonly volume: string; readonly mute: string };
}

const VOLUME_PERCENT = '(value_json.volume * 100) | round';

export function volumeDraft(
  node: DisplayedNode,
  audible: AudibleRecord,
  percentExpression = VOLUME_PERCENT,
): Draft {
  const { label, maxPercent, icons } = audible;
  const key = `${audible.keyPrefix}_volume`;
  const name = `${label} volume`;
  const topic = `${node.topic}/${audible.relativeTopic}`;
  // For Home Assistant, a slider's maximum must be larger than its minimum, which is 0.
  const isSettable = node.control && maxPercent > 0;
  // Home Assistant ignores a value above an entity's maximum, and logs an error for it.
  const value = ifJson(isSettable ? `[${percentExpression}, ${maxPercent}] | min` : percentExpression);
  const stateFields = {
    state_topic: topic,
    value_template: value,
    unit_of_measurement: '%',
    icon: icons.volume,
  };
  if (!isSettable) return { key, platform: 'sensor', name, fields: stateFields };
  const sliderFields = {
    command_topic: `${topic}/set`,
    command_template: '{"volume": {{ value / 100 }}}',
    min: 0,
    max: maxPercent,
    step: 1,
    mode: 'slider',
  };
  return { key, platform: 'number', name, fields: { ...stateFields, ...sliderFields } };
}

interface OnOffSetting {
  readonly key: string;
  readonly name: string;
  readonly topic: string;
  /** The template's value is `ON` or `OFF`. */
  readonly valueTemplate: string;
  /** This member of a command is true or false. */
  readonly commandMember: string;
  readonly icon: string;
}

export function switchDraft({ control }: DisplayedNode, setting: OnOffSetting): Draft {
  const { key, name, topic, valueTemplate, commandMember, icon } = setting;
  const stateFields = { state_topic: topic, value_template: valueTemplate, icon };
  if (!control) return { key, platform: 'binary_sensor', name, fields: stateFields };
  const commandFields = {
    command_topic: `${topic}/set`,
    state_on: 'ON',
    state_off: 'OFF',
    payload_on: `{"${commandMember}": true}`,
    payload_off: `{"${commandMember}": false}`,
  };
  return { key, platform: 'switch', name, fields: { ...stateFields, ...commandFields } };
}

/** Members of a switch whose commands are the same two words as its states, such as `start` and `stop`. */
export function wordSwitchFields(commandTopic: string, onWord: string, offWord: string): EntityMembers {
  return {
    state_on: onWord,
    state_off: offWord,
    command_topic: commandTopic,
    payload_on: onWord,
    payload_off: offWord,
  };
}

interface WordButton {
  readonly key: string;
  readonly name: string;
  readonly commandTopic: string;
  readonly word: string;
  readonly style: EntityMembers;
}

export function buttonDraft({ key, name, commandTopic, word, style }: WordButton): Draft {
  const fields = { command_topic: commandTopic, payload_press: word, ...style };
  return { key, platform: 'button', name, fields };
}
