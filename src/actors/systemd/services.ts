// Which units are watched, in which order, which of them a request may name, and what clients are told of one: facts -> Service
// record (contract, section 2). Pure.

import type { SystemdCommand, UnitScope } from '../../protocol/actor/commands.js';
import { type Fault, failure } from '../../protocol/actor/faults.js';
import type { ServiceRecord } from '../../protocol/actor/schemas.js';
import type { SystemdSettings, UnitEntry } from '../../protocol/actor/settings.js';
import { isAtRest, type UnitFacts } from '../units/facts.js';

/** A configured unit. The record keeps this name, whatever systemd calls the unit. */
export interface WatchedUnit {
  /** Key in the collection: scope, slash, configured name. */
  readonly key: string;
  readonly scope: UnitScope;
  readonly name: string;
  readonly url?: string;
}

/** The watched units in whitelist order: system, then user. Internal units are not among them (contract, section 1). */
export function watchedUnits(
  settings: Pick<SystemdSettings, 'system' | 'user' | 'internal'>,
): readonly WatchedUnit[] {
  const of = (scope: UnitScope, entries: readonly UnitEntry[]): WatchedUnit[] =>
    entries
      .filter(({ name }) => !settings.internal.includes(name))
      .map((entry) => ({ ...entry, scope, key: `${scope}/${entry.name}` }));
  return [...of('system', settings.system), ...of('user', settings.user)];
}

export type UnitTarget = { readonly ok: true; readonly unit: WatchedUnit } | ({ readonly ok: false } & Fault);

/** The unit that a command is about. What is not listed does not exist, whatever the scope; system units are only read. */
export function targetOf(watched: readonly WatchedUnit[], { scope, unit: name }: SystemdCommand): UnitTarget {
  const unit = watched.find((each) => each.scope === scope && each.name === name);
  if (unit === undefined) return noSuchUnit(scope, name);
  if (scope === 'user') return { ok: true, unit };
  return failure('read-only-scope', `The unit ${name} is the system's: it is only watched`);
}

export function noSuchUnit(scope: UnitScope, name: string): UnitTarget & { readonly ok: false } {
  return failure('no-such-unit', `No ${scope} unit ${JSON.stringify(name)} is listed`);
}

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
