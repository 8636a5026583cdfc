// Home Assistant's device message: all of the node as one device, as Home Assistant's MQTT discovery takes it (tried on 2026.6). Pure.
// What each thing becomes stands in entities.ts; here is what the message is made of, and how entities leave.

import { VERSION } from '../../version.js';
import { boundedJson } from './bounded-json.js';
import type { Component, Entities } from './drafts.js';
import { type EntityOwner, ownerOf } from './entities.js';

export interface DeviceFacts {
  readonly identifier: string;
  readonly hostname: string;
  readonly platform: string;
  /** The page's address. */
  readonly url: string;
  /** By key. */
  readonly entities: Entities;
  /** Whether what `entities` has of this owner is all that there is; else what the message has of it stays as it is. */
  readonly isKnown: (owner: EntityOwner) => boolean;
}

/** The topic of the message. */
export function deviceTopic(prefix: string, identifier: string): string {
  return `${prefix}/device/tonearm_${identifier}/config`;
}

/** A message, and the entities that it tells of. */
export interface DeviceMessage {
  readonly text: string;
  readonly entities: Entities;
}

/**
 * The message to publish while the broker holds one with the entities `held`. An entity leaves in a message that has its platform alone; only
 * the next message may use its key for another one, so this is asked again until nothing changes.
 */
export function deviceMessage(facts: DeviceFacts, held: Entities): DeviceMessage {
  const { identifier, hostname, platform, url } = facts;
  const entities = entitiesToTell(facts, held);
  const text = JSON.stringify({
    device: {
      identifiers: [`tonearm_${identifier}`],
      name: hostname,
      manufacturer: 'tonearm',
      model: 'Audio node',
      sw_version: VERSION,
      hw_version: platform,
      configuration_url: url,
    },
    origin: { name: 'tonearm', sw_version: VERSION },
    availability_mode: 'all',
    qos: 1,
    components: Object.fromEntries([...entities].sort(([a], [b]) => (a < b ? -1 : 1))),
  });
  return { text, entities };
}

function entitiesToTell(facts: DeviceFacts, held: Entities): Map<string, Component> {
  const found = new Map(facts.entities);
  for (const [key, component] of held) {
    const wanted = found.get(key);
    if (wanted === undefined && !facts.isKnown(ownerOf(key))) found.set(key, component);
    else if (wanted?.platform !== component.platform && !isLeaving(component)) {
      found.set(key, { platform: component.platform });
    }
  }
  return found;
}

function isLeaving(component: Component): boolean {
  return Object.keys(component).length === 1;
}

/** The entities of a message, out of whatever hands: what else a broker holds there is overwritten. */
export function entitiesIn(text: string): Entities {
  const { components } = (boundedJson(text) ?? {}) as { readonly components?: unknown };
  const entries = Object.entries(typeof components === 'object' ? (components ?? {}) : {});
  return new Map(
    entries.filter((entry): entry is [string, Component] => typeof entry[1]?.platform === 'string'),
  );
}
