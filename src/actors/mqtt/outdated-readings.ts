// Decides which topics Home Assistant must receive once more after a device message, which describes the
// node's entities. The message may have changed how an entity reads the text of a topic. But while Home
// Assistant keeps its subscription to the topic, it does not get the retained text again. Pure.

import type { Component, Entities } from './entities.js';

export interface DeviceMessage {
  readonly text: string;
  /** Empty if they are unknown, for instance because the text is too long to be parsed. */
  readonly entities: Entities;
}

/** A topic that an entity reads. */
interface TopicUse {
  /** An entity may read one topic for several purposes, such as `state` and `attributes`. */
  readonly purpose: string;
  readonly topic: string;
  readonly template: unknown;
}

/**
 * The topics that Home Assistant must receive once more after the message `after`. The broker retained
 * `before` until it stored `after`.
 */
export function topicsToReadAgain(before: DeviceMessage, after: DeviceMessage): ReadonlySet<string> {
  const isHeadSame = headOf(before.text) === headOf(after.text);
  const areEarlierEntitiesUnknown = before.text !== '' && before.entities.size === 0;
  const uses = [...after.entities].flatMap(([key, component]) => {
    if (areEarlierEntitiesUnknown) return usesOf(component);
    const earlier = before.entities.get(key);
    // Home Assistant subscribes to the topics of an entity that is new or has another platform than before.
    // So it gets their retained texts.
    if (earlier?.platform !== component.platform) return [];
    const isEntitySame = isHeadSame && JSON.stringify(earlier) === JSON.stringify(component);
    return isEntitySame ? [] : outdatedUses(earlier, component);
  });
  return new Set(uses.map(({ topic }) => topic));
}

/** Everything before the entities. If this part has changed, Home Assistant updates all entities. */
function headOf(text: string): string {
  return text.slice(0, text.indexOf('"components":'));
}

function outdatedUses(earlier: Component, component: Component): readonly TopicUse[] {
  const earlierUses = usesOf(earlier);
  return usesOf(component).filter(({ purpose, topic, template }) => {
    const isSameUse = (other: TopicUse): boolean => other.purpose === purpose && other.topic === topic;
    const earlierUse = earlierUses.find(isSameUse);
    // Home Assistant subscribes to a new topic, and gets the retained text of this topic.
    if (earlierUse === undefined) return false;
    // When Home Assistant updates an entity that is an image, it forgets the image's address
    // (docs/development/what-we-learnt.md).
    return purpose === 'url' || earlierUse.template !== template;
  });
}

const PURPOSES = [
  { purpose: 'state', topicMember: 'state_topic', templateMember: 'value_template' },
  { purpose: 'attributes', topicMember: 'json_attributes_topic', templateMember: 'json_attributes_template' },
  { purpose: 'url', topicMember: 'url_topic', templateMember: 'url_template' },
] as const;

function usesOf(component: Component): readonly TopicUse[] {
  const uses = PURPOSES.flatMap(({ purpose, topicMember, templateMember }) => {
    const topic = component[topicMember];
    return typeof topic === 'string' ? [{ purpose, topic, template: component[templateMember] }] : [];
  });
  const { availability } = component;
  const conditions: readonly unknown[] = Array.isArray(availability) ? availability : [];
  return [...uses, ...conditions.flatMap(availabilityUse)];
}

/** Somebody else may have written the message `before`, so its conditions may have any form. */
function availabilityUse(condition: unknown): readonly TopicUse[] {
  if (typeof condition !== 'object' || condition === null || !('topic' in condition)) return [];
  const { topic } = condition;
  const template = 'value_template' in condition ? condition.value_template : undefined;
  return typeof topic === 'string' ? [{ purpose: 'availability', topic, template }] : [];
}
