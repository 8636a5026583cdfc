// A unit as clients see it: facts -> Service record (contract, section 2). Pure.

import type { ServiceRecord } from '../../protocol/actor/schemas.js';
import { isAtRest, type UnitFacts } from '../units/facts.js';
import type { WatchedUnit } from './whitelist.js';

type ActiveState = NonNullable<ServiceRecord['active_state']>;

/** systemd's states that the contract knows, and what a newer systemd's become. */
const ACTIVE_STATES: Readonly<Record<string, ActiveState>> = {
  active: 'active',
  reloading: 'reloading',
  inactive: 'inactive',
  failed: 'failed',
  activating: 'activating',
  deactivating: 'deactivating',
  maintenance: 'maintenance',
  // Since systemd 254: a reload of what is mounted or extended, while the unit stays active.
  refreshing: 'reloading',
};

/** What is known of a unit's run: the manager's word; or the directory's, which tells only whether it is at rest. */
export type FactSource =
  | { readonly kind: 'manager' }
  | { readonly kind: 'directory'; readonly atRest: boolean };

/** `fileState`: the unit file state, undefined without a unit file. */
export function serviceRecord(
  { name, scope, url }: WatchedUnit,
  facts: UnitFacts,
  fileState: string | undefined,
  source: FactSource,
): ServiceRecord {
  const exists = fileState !== undefined || facts.loadState !== 'not-found' || !isAtRest(facts);
  return {
    name,
    scope,
    ...(exists && stateOf(facts, source)),
    running: runsNow(facts, source),
    enabled: fileState === 'enabled',
    ...(fileState !== undefined && { unit_file_state: fileState }),
    exists,
    ...(exists && facts.description !== '' && { description: facts.description }),
    ...(url !== undefined && { url }),
  };
}

/** The directory cannot contradict the manager's last word in detail; where it does contradict it, no state is known. */
function agrees(facts: UnitFacts, source: FactSource): boolean {
  return source.kind === 'manager' || source.atRest === isAtRest(facts);
}

function stateOf(facts: UnitFacts, source: FactSource): Pick<ServiceRecord, 'active_state' | 'sub_state'> {
  const state = ACTIVE_STATES[facts.activeState];
  if (state === undefined || !agrees(facts, source)) return {};
  return { active_state: state, ...(facts.subState !== '' && { sub_state: facts.subState }) };
}

function runsNow(facts: UnitFacts, source: FactSource): boolean {
  // Without a manager: it was started and has not ended. That is the most that can be said.
  if (source.kind === 'directory' && !agrees(facts, source)) return !source.atRest;
  return facts.activeState === 'active' && facts.subState === 'running';
}
