// Home Assistant entities of sound cards: a select of the profile for each card that has several. Pure.

import type { CardRecord } from '../../protocol/actor/schemas.js';
import { type Draft, type EntitySources, SIMPLE, shownName, slugOf } from './drafts.js';
import { ifJson, mapNames, UNKNOWN } from './templates.js';
import { topicLevel } from './topics.js';

export const CARD_PREFIX = 'card_';

/** A text that differs when the card's entity does, but for its state. */
export function cardTitle({ description, profiles }: CardRecord): string {
  return JSON.stringify([description, ...profiles.map((profile) => [profile.name, profile.description])]);
}

/** Each profile's option, by name: its description, with its name added if several are called the same. */
function profileLabels({ profiles }: CardRecord): ReadonlyMap<string, string> {
  const shown = profiles.map(({ description }) => shownName(description));
  return new Map(
    profiles.map(({ name }, at) => {
      const label = shown[at] ?? name;
      const isAlone = shown.indexOf(label) === shown.lastIndexOf(label);
      return [name, isAlone ? label : `${label} (${shownName(name)})`];
    }),
  );
}

export function cardEntities({ topic, control }: EntitySources, card: CardRecord): readonly Draft[] {
  if (card.profiles.length < 2) return [];
  const labels = profileLabels(card);
  const stateTopic = `${topic}/audio/cards/${topicLevel(card.name)}`;
  const state = {
    state_topic: stateTopic,
    value_template: ifJson(mapNames('value_json.active_profile', labels), UNKNOWN),
    icon: 'mdi:expansion-card-variant',
  };
  const key = `${CARD_PREFIX}${slugOf(card.name, SIMPLE)}`;
  const name = `${shownName(card.description)} profile`;
  if (!control) return [{ key, platform: 'sensor', name, rest: { ...state, entity_category: 'diagnostic' } }];
  const names = new Map([...labels].map(([profile, label]) => [label, profile]));
  const rest = {
    ...state,
    options: [...names.keys()],
    command_topic: `${stateTopic}/set`,
    command_template: `{"profile": {{ ${JSON.stringify(Object.fromEntries(names))}[value] | tojson }}}`,
    entity_category: 'config',
  };
  return [{ key, platform: 'select', name, rest }];
}
