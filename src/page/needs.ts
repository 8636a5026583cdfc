// Finds what a person must look at: a unit that has failed, an upgrade, a backend that is away. Each such
// need has a place on the page, and one line for the header. Pure.

import type { ChildName, NodeState } from '../client/client.js';
import { isolated, translate } from './language.js';
import type { SectionId, TabId } from './view.js';

export interface Need {
  readonly tab: TabId;
  readonly section: SectionId;
  readonly text: string;
  readonly isBad: boolean;
}

type Place = readonly [tab: TabId, section: SectionId];

const PLACES: Readonly<Partial<Record<ChildName, Place>>> = {
  audio: ['sound', 'outputs'],
  players: ['music', 'now'],
  bluetooth: ['sound', 'bluetooth'],
  systemd: ['node', 'services'],
  upgrade: ['node', 'upgrade'],
};
/** The place of all other backends and bridges. */
const OTHER_PLACE: Place = ['node', 'system'];

/** The most urgent first. */
export function needsOf(state: NodeState): readonly Need[] {
  return [...backendNeeds(state), ...unitNeeds(state), ...upgradeNeeds(state)];
}

function backendNeeds({ backends }: NodeState): readonly Need[] {
  return [...backends].flatMap(([name, { state }]) => {
    if (state === 'up') return [];
    const [tab, section] = PLACES[name] ?? OTHER_PLACE;
    const words = { what: translate(`backend_${name}`), state: translate(`down_${state}`) };
    return [{ tab, section, text: translate('awayNow', words), isBad: true }];
  });
}

function unitNeeds({ units }: NodeState): readonly Need[] {
  const failed = [...units.values()].filter(({ active_state }) => active_state === 'failed');
  return failed.map(({ name, description }) => {
    const words = { what: isolated(description || name), state: translate('failed') };
    return { tab: 'node', section: 'services', text: translate('awayNow', words), isBad: true };
  });
}

function upgradeNeeds({ upgrade }: NodeState): readonly Need[] {
  const { upgrade_available: isAvailable = false, latest = '', run } = upgrade ?? {};
  const need = (text: string, isBad: boolean): Need => ({ tab: 'node', section: 'upgrade', text, isBad });
  if (run?.state === 'running') return [need(translate('upgrading'), false)];
  if (run?.state === 'failed') return [need(translate('upgradeHasFailed'), true)];
  return isAvailable ? [need(translate('available', { version: isolated(latest) }), false)] : [];
}
