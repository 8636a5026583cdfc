// Home Assistant entities of outputs: a volume and a mute for each, and a select for the default. Pure.

import type { OutputRecord } from '../../protocol/actor/schemas.js';
import { type Draft, type Entities, type EntitySources, SIMPLE, shownName, slugOf } from './drafts.js';
import { ifJson, mapNames, UNKNOWN } from './templates.js';
import { topicLevel } from './topics.js';

export const DEFAULT_OUTPUT = 'default_output';

/** True if the default output exists but is not an option of the message's select. */
export function isNotOffered(
  { server, outputs }: Pick<EntitySources, 'server' | 'outputs'>,
  entities: Entities,
): boolean {
  const label = outputLabels(outputs).get(server?.default_sink ?? '');
  const options = entities.get(DEFAULT_OUTPUT)?.['options'];
  return label !== undefined && Array.isArray(options) && !options.includes(label);
}

const PERCENT = '(value_json.volume * 100) | round';

/** The configured label, else the sound server's description. `nick` is the label if the properties hold no nick of the device. */
function entityName({ name, description, nick, props }: OutputRecord): string {
  const isLabel = props['node.nick'] === undefined && props['device.nick'] === undefined;
  return shownName((isLabel && nick) || description || name);
}

export function outputEntities({ topic, control }: EntitySources, output: OutputRecord): readonly Draft[] {
  const stem = `output_${slugOf(output.name, SIMPLE)}`;
  const state = { state_topic: `${topic}/audio/outputs/${topicLevel(output.name)}` };
  const set = { command_topic: `${state.state_topic}/set` };
  const percent = { unit_of_measurement: '%', icon: 'mdi:volume-high' };
  const volume = { ...state, value_template: ifJson(PERCENT) };
  const mute = { ...state, value_template: ifJson("'ON' if value_json.muted else 'OFF'") };
  const icon = { icon: 'mdi:volume-mute' };
  const names = { volume: `${entityName(output)} volume`, mute: `${entityName(output)} mute` };
  if (!control) {
    return [
      { key: `${stem}_volume`, platform: 'sensor', name: names.volume, rest: { ...volume, ...percent } },
      { key: `${stem}_mute`, platform: 'binary_sensor', name: names.mute, rest: { ...mute, ...icon } },
    ];
  }
  // Home Assistant ignores a value above its maximum and logs an error.
  const max = Math.max(1, Math.floor((output.volume_limit ?? 1) * 100 + 1e-6));
  const value = { ...volume, value_template: ifJson(`[${PERCENT}, ${max}] | min`) };
  const slider = {
    command_template: '{"volume": {{ value / 100 }}}',
    min: 0,
    max,
    step: 1,
    mode: 'slider',
  };
  const onOff = { payload_on: '{"muted": true}', payload_off: '{"muted": false}' };
  return [
    {
      key: `${stem}_volume`,
      platform: 'number',
      name: names.volume,
      rest: { ...value, ...set, ...slider, ...percent },
    },
    {
      key: `${stem}_mute`,
      platform: 'switch',
      name: names.mute,
      rest: { ...mute, state_on: 'ON', state_off: 'OFF', ...set, ...onOff, ...icon },
    },
  ];
}

/** Each output's option in the select, by name: as its volume is called, with its name added if several are called the same. */
function outputLabels(outputs: readonly OutputRecord[]): ReadonlyMap<string, string> {
  const shown = outputs.map(entityName);
  const isAlone = (label: string): boolean => shown.filter((each) => each === label).length === 1;
  return new Map(
    outputs.map((output) => {
      const label = entityName(output);
      return [output.name, isAlone(label) ? label : `${label} (${slugOf(output.name, SIMPLE)})`];
    }),
  );
}

export function defaultOutput({ topic, control, server, outputs }: EntitySources): readonly Draft[] {
  // A select needs at least one option.
  if (server === undefined || outputs.length === 0) return [];
  const labels = outputLabels(outputs);
  const label = mapNames('value_json.default_sink', labels);
  const state = { state_topic: `${topic}/audio/server`, value_template: ifJson(label, UNKNOWN) };
  const key = DEFAULT_OUTPUT;
  if (!control) return [{ key, platform: 'sensor', name: 'Output', rest: state }];
  const names = new Map([...labels].map(([name, shown]) => [shown, name]));
  const rest = {
    ...state,
    options: [...names.keys()],
    command_topic: `${topic}/audio/server/set`,
    command_template: `{"output": {{ ${JSON.stringify(Object.fromEntries(names))}[value] | tojson }}}`,
  };
  return [{ key, platform: 'select', name: 'Output', rest }];
}
