// Drafts of Home Assistant's entities: what a draft consists of, and the drafts that several kinds of
// records need: a select, a volume, a switch and a button. Pure.

import type { Branch } from './branch.js';

/** The node whose records (outputs, players) become entities, while their backends are up. */
export interface DisplayedNode {
  readonly identifier: string;
  readonly topic: string;
  /** If false, no entity sends commands: buttons are left out, and all other entities only display. */
  readonly control: boolean;
  readonly branch: Branch;
  /** Where other machines reach the node's routes; without a slash at the end. */
  readonly url: string;
}

/** Members of an entity in the format of Home Assistant's MQTT discovery. */
export type Fields = Readonly<Record<string, unknown>>;

/** An entity without the members that all entities have (entities.ts adds them). */
export interface Draft {
  /** No other entity of the node has this key. The entity's unique id ends with it. */
  readonly key: string;
  /** The kind of entity in Home Assistant, such as `switch`. */
  readonly platform: string;
  readonly name: string;
  readonly fields: Fields;
  /** A further condition: while it does not hold, the entity is unavailable. */
  readonly availableWhile?: Condition;
}

/** Holds while the expression over the topic's JSON is true. */
interface Condition {
  readonly topic: string;
  readonly expression: string;
}

/**
 * A template in Jinja2: the value of the expression over the topic's JSON (`value_json`), or `otherwise` for
 * an emptied topic, which has no JSON. A missing member would be an error, so the expression must use
 * `default` for it.
 */
export function ifJson(expression: string, otherwise = ''): string {
  return `{% if value_json is defined %}{{ ${expression} }}{% else %}${otherwise}{% endif %}`;
}

/** A sensor displays this text as unknown. It would not accept an empty text. */
export const UNKNOWN = 'None';

export function availabilityTemplate(expression: string): string {
  return `{{ 'online' if value_json is defined and ${expression} else 'offline' }}`;
}

/** The choice of one name among several. */
interface Choice {
  readonly key: string;
  readonly name: string;
  readonly topic: string;
  /** The key is the name that the node uses, the value is the text for people. Each text is there once. */
  readonly labels: ReadonlyMap<string, string>;
  /** The member of the topic's JSON that has the current name. */
  readonly stateMember: string;
  /** The member of a command that has the new name. */
  readonly commandMember: string;
  readonly style: Fields;
}

export function selectDraft({ control }: DisplayedNode, choice: Choice): Draft {
  const { key, name, topic, labels, stateMember, commandMember, style } = choice;
  const currentLabel = `${jinjaTable(labels)}[value_json.${stateMember} | default('')] | default('${UNKNOWN}')`;
  const state = { state_topic: topic, value_template: ifJson(currentLabel, UNKNOWN), ...style };
  if (!control) {
    // Home Assistant allows no sensor in the category `config`.
    const category = style['entity_category'] === undefined ? {} : { entity_category: 'diagnostic' };
    return { key, platform: 'sensor', name, fields: { ...state, ...category } };
  }
  const namesByLabel = new Map([...labels].map(([nodesName, label]) => [label, nodesName]));
  const command = `{"${commandMember}": {{ ${jinjaTable(namesByLabel)}[value] | tojson }}}`;
  const set = { command_topic: `${topic}/set`, command_template: command };
  return { key, platform: 'select', name, fields: { ...state, options: [...namesByLabel.keys()], ...set } };
}

/** A dictionary of Jinja2, which is written as in JSON. */
function jinjaTable(entries: ReadonlyMap<string, string>): string {
  return JSON.stringify(Object.fromEntries(entries));
}

/** An output, an input or a player, which has a volume. */
export interface AudibleThing {
  /** How the keys of its entities begin. */
  readonly key: string;
  /** Relative to the node's topic. */
  readonly topic: string;
  readonly label: string;
  readonly maxPercent: number;
  readonly icons: { readonly volume: string; readonly mute: string };
}

const PERCENT = '(value_json.volume * 100) | round';

/** `percent` is the expression that gives the volume in percent. */
export function volumeDraft(node: DisplayedNode, thing: AudibleThing, percent = PERCENT): Draft {
  const { label, maxPercent, icons } = thing;
  const key = `${thing.key}_volume`;
  const name = `${label} volume`;
  const topic = `${node.topic}/${thing.topic}`;
  // Home Assistant wants a slider's maximum above its minimum. Where only silence is allowed, the volume
  // cannot be set anyway.
  const isSettable = node.control && maxPercent > 0;
  // Home Assistant ignores a value above the maximum of its entity, and logs an error for it.
  const value = ifJson(isSettable ? `[${percent}, ${maxPercent}] | min` : percent);
  const state = { state_topic: topic, value_template: value, unit_of_measurement: '%', icon: icons.volume };
  if (!isSettable) return { key, platform: 'sensor', name, fields: state };
  const slider = {
    command_topic: `${topic}/set`,
    command_template: '{"volume": {{ value / 100 }}}',
    min: 0,
    max: maxPercent,
    step: 1,
    mode: 'slider',
  };
  return { key, platform: 'number', name, fields: { ...state, ...slider } };
}

/** Something that is on or off. */
interface OnOffSetting {
  readonly key: string;
  readonly name: string;
  readonly topic: string;
  /** Gives `ON` or `OFF`. */
  readonly valueTemplate: string;
  /** The member of a command that is true or false. */
  readonly commandMember: string;
  readonly icon: string;
}

export function switchDraft({ control }: DisplayedNode, setting: OnOffSetting): Draft {
  const { key, name, topic, valueTemplate, commandMember, icon } = setting;
  const state = { state_topic: topic, value_template: valueTemplate, icon };
  if (!control) return { key, platform: 'binary_sensor', name, fields: state };
  const commands = {
    command_topic: `${topic}/set`,
    state_on: 'ON',
    state_off: 'OFF',
    payload_on: `{"${commandMember}": true}`,
    payload_off: `{"${commandMember}": false}`,
  };
  return { key, platform: 'switch', name, fields: { ...state, ...commands } };
}

/** The members of a switch whose commands and states are two words, such as `power_up` and `power_down`. */
export function wordSwitchFields(commandTopic: string, onWord: string, offWord: string): Fields {
  return {
    state_on: onWord,
    state_off: offWord,
    command_topic: commandTopic,
    payload_on: onWord,
    payload_off: offWord,
  };
}

/** A button that sends a word. */
interface WordButton {
  readonly key: string;
  readonly name: string;
  readonly commandTopic: string;
  readonly word: string;
  readonly style: Fields;
}

export function buttonDraft({ key, name, commandTopic, word, style }: WordButton): Draft {
  const fields = { command_topic: commandTopic, payload_press: word, ...style };
  return { key, platform: 'button', name, fields };
}
