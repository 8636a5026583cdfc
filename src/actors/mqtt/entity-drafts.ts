// The parts of all entities of Home Assistant: the draft of one, the expressions in it, and the kinds that
// several things of the node have: a choice, a volume, a switch, a button. Pure.

import type { Branch } from './branch.js';

/** The node, whose things become entities: the records of backends that are up. */
export interface DisplayedNode {
  readonly identifier: string;
  readonly topic: string;
  /** False: entities that only send commands are left out, and the others are read-only. */
  readonly control: boolean;
  readonly branch: Branch;
  /** Where other machines reach its routes; without a slash at the end. */
  readonly url: string;
}

export type Fields = Readonly<Record<string, unknown>>;

/** `also`: a further condition for its availability, an expression over the JSON of a topic. */
export type Draft = readonly [key: string, platform: string, name: string, fields: Fields, also?: Condition];

export type Condition = readonly [topic: string, expression: string];

/**
 * Templates are Jinja2. An emptied topic has no JSON, and a missing field is an error: then each gives a
 * replacement, or an empty text.
 */
export function ifJson(expression: string, otherwise = ''): string {
  return `{% if value_json is defined %}{{ ${expression} }}{% else %}${otherwise}{% endif %}`;
}

/** A sensor displays this as unknown; it would not accept an empty text. */
export const UNKNOWN = 'None';

export function onlineIf(expression: string): string {
  return `{{ 'online' if value_json is defined and ${expression} else 'offline' }}`;
}

/**
 * A choice of one of these names: `field` of the state has the present name, and `member` of the command
 * carries the new one.
 */
export function select(
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
export interface LoudThing {
  readonly key: string;
  readonly topic: string;
  readonly label: string;
  readonly max: number;
  readonly icons: readonly [volume: string, mute: string];
}

/** `percent` is the expression of its value. */
export function volumeEntity({ topic, control }: DisplayedNode, thing: LoudThing, percent = PERCENT): Draft {
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

/** A switch of the command's member `member`; without control it is only displayed. */
export function onOff(
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
export function whileTrue([key, platform, name, fields]: Draft, condition: Condition): Draft {
  return [key, platform, name, fields, condition];
}

export function press(key: string, name: string, to: string, word: string, style: Fields): Draft {
  return [key, 'button', name, { command_topic: to, payload_press: word, ...style }];
}

/** A switch that sends a word for each state, and whose value template gives the same words. */
export function turns(to: string, on: string, off: string): Fields {
  return { state_on: on, state_off: off, command_topic: to, payload_on: on, payload_off: off };
}
