// Decides which entities Home Assistant shows, by a table of the backends. The keys and unique ids of
// entities contain neither the host's name nor its address, because both may change. Pure.

import type { Backend } from '../../protocol/actor/backends.js';
import { bluetoothEntities } from './bluetooth-entities.js';
import { availabilityTemplate, type DisplayedNode, type Draft } from './entity-drafts.js';
import { displayName } from './entity-names.js';
import { daemonEntities, powerButtons, unitEntities, upgradeEntities } from './node-entities.js';
import { playerEntities } from './player-entities.js';
import { soundEntities } from './sound-entities.js';

/** The JSON of one entity, in the member `components` of the device message. */
export type Component = Readonly<Record<string, unknown>> & { readonly platform: string };

/** The components, by the keys of their entities. */
export type Entities = ReadonlyMap<string, Component>;

interface EntitiesOfBackend {
  readonly backend: Backend;
  /** The keys of this backend's entities, and no other keys, begin with one of these prefixes. */
  readonly keyPrefixes: readonly string[];
  readonly draftsOf: (node: DisplayedNode) => readonly Draft[];
}

const ENTITIES_BY_BACKEND: readonly EntitiesOfBackend[] = [
  {
    backend: 'audio',
    keyPrefixes: ['output_', 'input_', 'card_', 'default_output', 'sleep'],
    draftsOf: soundEntities,
  },
  { backend: 'systemd', keyPrefixes: ['unit_'], draftsOf: unitEntities },
  { backend: 'players', keyPrefixes: ['player_'], draftsOf: playerEntities },
  { backend: 'power', keyPrefixes: ['reboot', 'power_off'], draftsOf: powerButtons },
  { backend: 'upgrade', keyPrefixes: ['update'], draftsOf: upgradeEntities },
  { backend: 'bluetooth', keyPrefixes: ['bluetooth'], draftsOf: bluetoothEntities },
];

/** The backend to which the entity belongs; undefined for an entity of the daemon itself. */
export function backendOf(key: string): Backend | undefined {
  return ENTITIES_BY_BACKEND.find(({ keyPrefixes }) => keyPrefixes.some((prefix) => key.startsWith(prefix)))
    ?.backend;
}

export function entitiesOf(node: DisplayedNode): Entities {
  const drafts = [...ENTITIES_BY_BACKEND.flatMap((row) => row.draftsOf(node)), ...daemonEntities(node)];
  return new Map(drafts.map((draft) => [draft.key, componentOf(node, draft)]));
}

function componentOf(node: DisplayedNode, draft: Draft): Component {
  return {
    platform: draft.platform,
    unique_id: `tonearm_${node.identifier}_${draft.key}`,
    name: displayName(draft.name),
    ...entityAvailability(node, draft),
    ...draft.fields,
  };
}

/**
 * An entity is available while the node is online, the entity's backend is up, and the draft's own condition
 * is true. A draft may have no condition. An entity of the daemon itself has no backend and no condition.
 */
function entityAvailability({ topic }: DisplayedNode, { key, availableWhile }: Draft) {
  const backend = backendOf(key);
  const nodeCondition = { topic: `${topic}/status` };
  if (backend === undefined) return { availability: [nodeCondition] };
  const upExpression = `value_json.${backend}.state == 'up'`;
  const backendCondition = { topic: `${topic}/backends`, value_template: availabilityTemplate(upExpression) };
  if (availableWhile === undefined)
    return { availability: [nodeCondition, backendCondition], availability_mode: 'all' };
  const draftCondition = {
    topic: availableWhile.topic,
    value_template: availabilityTemplate(availableWhile.expression),
  };
  return { availability: [nodeCondition, backendCondition, draftCondition], availability_mode: 'all' };
}
