// Decides which entities Home Assistant shows, as a table of each backend's entities. An entity's key has
// the name of its thing, and its unique id also the node's identifier. Neither has the host's name or
// address. Pure.

import type { Backend } from '../../protocol/actor/backends.js';
import { bluetoothEntities } from './bluetooth-entities.js';
import { availabilityTemplate, type DisplayedNode, type Draft } from './entity-drafts.js';
import { displayName } from './entity-names.js';
import { powerButtons, serviceEntities, unitEntities, upgradeEntities } from './node-entities.js';
import { playerEntities } from './player-entities.js';
import { soundEntities } from './sound-entities.js';

/** An entity in the device message. */
export type Component = Readonly<Record<string, unknown>> & { readonly platform: string };

/** By key. */
export type Entities = ReadonlyMap<string, Component>;

/** The entities of one backend's records. */
interface EntitiesOfBackend {
  readonly backend: Backend;
  /** Each key of these entities begins with one of these prefixes, and no key of other entities does. */
  readonly keyPrefixes: readonly string[];
  readonly drafts: (node: DisplayedNode) => readonly Draft[];
}

const TABLE: readonly EntitiesOfBackend[] = [
  {
    backend: 'audio',
    keyPrefixes: ['output_', 'input_', 'card_', 'default_output', 'sleep'],
    drafts: soundEntities,
  },
  { backend: 'systemd', keyPrefixes: ['unit_'], drafts: unitEntities },
  { backend: 'players', keyPrefixes: ['player_'], drafts: playerEntities },
  { backend: 'power', keyPrefixes: ['reboot', 'power_off'], drafts: powerButtons },
  { backend: 'upgrade', keyPrefixes: ['update'], drafts: upgradeEntities },
  { backend: 'bluetooth', keyPrefixes: ['bluetooth'], drafts: bluetoothEntities },
];

/** The backend whose record the entity shows; undefined for an entity of the service itself. */
export function ownerOf(key: string): Backend | undefined {
  return TABLE.find(({ keyPrefixes }) => keyPrefixes.some((prefix) => key.startsWith(prefix)))?.backend;
}

export function entitiesOf(node: DisplayedNode): Entities {
  const drafts = [...TABLE.flatMap((row) => row.drafts(node)), ...serviceEntities(node)];
  return new Map(drafts.map((draft) => [draft.key, componentOf(node, draft)]));
}

function componentOf(node: DisplayedNode, draft: Draft): Component {
  return {
    platform: draft.platform,
    unique_id: `tonearm_${node.identifier}_${draft.key}`,
    name: displayName(draft.name),
    ...availabilityOf(node, draft),
    ...draft.fields,
  };
}

/**
 * An entity is available while the node is online, its backend is up, and the draft's own condition holds.
 */
function availabilityOf({ topic }: DisplayedNode, { key, availableWhile }: Draft) {
  const owner = ownerOf(key);
  const online = { topic: `${topic}/status` };
  if (owner === undefined) return { availability: [online] };
  const isUp = `value_json.${owner}.state == 'up'`;
  const up = { topic: `${topic}/backends`, value_template: availabilityTemplate(isUp) };
  if (availableWhile === undefined) return { availability: [online, up], availability_mode: 'all' };
  const condition = {
    topic: availableWhile.topic,
    value_template: availabilityTemplate(availableWhile.expression),
  };
  return { availability: [online, up, condition], availability_mode: 'all' };
}
