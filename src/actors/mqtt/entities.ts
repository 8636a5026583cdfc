// Table of Home Assistant's entities: what each thing of the node is there. Keys and unique ids are made of
// the node's identifier and the thing's own name, never of the host's name or address. Pure.

import type { Backend } from '../../protocol/actor/backends.js';
import { bluetoothEntities } from './bluetooth-entities.js';
import { type DisplayedNode, type Draft, onlineIf } from './entity-drafts.js';
import { displayName } from './entity-names.js';
import { powerButtons, serviceEntities, unitEntities, upgradeEntities } from './node-entities.js';
import { playerEntities } from './player-entities.js';
import { soundEntities } from './sound-entities.js';

export type Component = Readonly<Record<string, unknown>> & { readonly platform: string };

/** By key. */
export type Entities = ReadonlyMap<string, Component>;

/** The entities of a backend's records. */
interface EntitiesOfBackend {
  readonly backend: Backend;
  /** How their keys begin. */
  readonly keys: readonly string[];
  readonly drafts: (node: DisplayedNode) => readonly Draft[];
}

const TABLE: readonly EntitiesOfBackend[] = [
  {
    backend: 'audio',
    keys: ['output_', 'input_', 'card_', 'default_output', 'sleep'],
    drafts: soundEntities,
  },
  { backend: 'systemd', keys: ['unit_'], drafts: unitEntities },
  { backend: 'players', keys: ['player_'], drafts: playerEntities },
  { backend: 'power', keys: ['reboot', 'power_off'], drafts: powerButtons },
  { backend: 'upgrade', keys: ['update'], drafts: upgradeEntities },
  { backend: 'bluetooth', keys: ['bluetooth'], drafts: bluetoothEntities },
];

/** Undefined for the service's own. */
export function ownerOf(key: string): Backend | undefined {
  return TABLE.find(({ keys }) => keys.some((beginning) => key.startsWith(beginning)))?.backend;
}

export function entitiesOf(node: DisplayedNode): Entities {
  const drafts = [...TABLE.flatMap((row) => row.drafts(node)), ...serviceEntities(node)];
  return new Map(drafts.map((draft) => [draft[0], componentOf(node, draft)]));
}

function componentOf({ identifier, topic }: DisplayedNode, [key, platform, name, fields, also]: Draft) {
  const owner = ownerOf(key);
  const online = { topic: `${topic}/status` };
  const up = { topic: `${topic}/backends`, value_template: onlineIf(`value_json.${owner}.state == 'up'`) };
  const further = also === undefined ? [] : [{ topic: also[0], value_template: onlineIf(also[1]) }];
  const whole = { availability: [online, up, ...further], availability_mode: 'all' };
  const availability = owner === undefined ? { availability: [online] } : whole;
  const unique_id = `tonearm_${identifier}_${key}`;
  return { platform, unique_id, name: displayName(name), ...availability, ...fields };
}
