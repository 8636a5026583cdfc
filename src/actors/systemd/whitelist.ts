// Which units are watched, in which order, and which of them a request may name. Pure.

import type { SystemdCommand, UnitScope } from '../../protocol/actor/commands.js';
import type { Fault } from '../../protocol/actor/faults.js';
import type { SystemdSettings, UnitEntry } from '../../protocol/actor/settings.js';

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
  return {
    ok: false,
    fault: 'read-only-scope',
    detail: `The unit ${name} is the system's: it is only watched`,
  };
}

export function noSuchUnit(scope: UnitScope, name: string): UnitTarget & { readonly ok: false } {
  return { ok: false, fault: 'no-such-unit', detail: `No ${scope} unit ${JSON.stringify(name)} is listed` };
}
