// Finds what needs a person's attention: a failed unit, an upgrade, a backend or bridge that is away. Pure.

import type { ChildName, NodeState } from '../client/client.js';
import { isolated, translate } from './language.js';
import type { SectionId, TabId } from './view.js';

/** The header shows the text of the first need. A press on this text opens the section. */
export interface Need {
  readonly tab: TabId;
  readonly section: SectionId;
  readonly text: string;
  /** False only for an upgrade that is running or available. */
  readonly isBad: boolean;
}

type NeedPlace = Pick<Need, 'tab' | 'section'>;

const UPGRADE_PLACE: NeedPlace = { tab: 'node', section: 'upgrade' };

const BACKEND_PLACES: Readonly<Partial<Record<ChildName, NeedPlace>>> = {
  audio: { tab: 'sound', section: 'outputs' },
  players: { tab: 'music', section: 'now' },
  bluetooth: { tab: 'sound', section: 'bluetooth' },
  systemd: { tab: 'node', section: 'services' },
  upgrade: UPGRADE_PLACE,
};
/** The place of all other backends and bridges. */
const OTHER_PLACE: NeedPlace = { tab: 'node', section: 'system' };

/**
 * The most urgent needs are first. The state may still contain the units or the upgrade of a backend that a
 * reload of the configuration has disabled. Such units and such an upgrade make no need.
 */
export function needsOf(state: NodeState): readonly Need[] {
  return [...backendNeeds(state), ...unitNeeds(state), ...upgradeNeeds(state)];
}

function backendNeeds({ backends }: NodeState): readonly Need[] {
  const needs: Need[] = [];
  for (const [name, { state }] of backends) {
    if (state === 'up') continue;
    const place = BACKEND_PLACES[name] ?? OTHER_PLACE;
    const values = { what: translate(`backend_${name}`), state: translate(`down_${state}`) };
    needs.push({ ...place, text: translate('nameAndState', values), isBad: true });
  }
  return needs;
}

function unitNeeds({ backends, units }: NodeState): readonly Need[] {
  if (!backends.has('systemd')) return [];
  const failed = [...units.values()].filter(({ active_state }) => active_state === 'failed');
  return failed.map(({ name, description }) => {
    const values = { what: isolated(description || name), state: translate('failed') };
    return { tab: 'node', section: 'services', text: translate('nameAndState', values), isBad: true };
  });
}

function upgradeNeeds({ backends, upgrade }: NodeState): readonly Need[] {
  if (!backends.has('upgrade')) return [];
  const { upgrade_available = false, latest = '', run } = upgrade ?? {};
  if (run?.state === 'running') return [{ ...UPGRADE_PLACE, text: translate('upgrading'), isBad: false }];
  if (run?.state === 'failed')
    return [{ ...UPGRADE_PLACE, text: translate('upgradeHasFailed'), isBad: true }];
  if (!upgrade_available) return [];
  const text = translate('available', { version: isolated(latest) });
  return [{ ...UPGRADE_PLACE, text, isBad: false }];
}
