// Which signals a scope asks its bus for. Pure.

import type { UnitScope } from '../../protocol/actor/commands.js';
import { PROPERTIES_CHANGED } from '../../protocol/dbus/daemon.js';
import type { Match } from '../../protocol/dbus/method.js';
import {
  MANAGER_INTERFACE,
  SYSTEMD_NAME,
  SYSTEMD_PATH,
  UNIT_INTERFACE,
  UNIT_PATHS,
  unitPath,
} from '../../protocol/dbus/systemd.js';

/** Two rules per unit; a bus refuses more than 512 rules of one connection. Above it all units are listened to. */
const SINGLE_MAX_UNITS = 100;

const MANAGER: Match = { sender: SYSTEMD_NAME, path: SYSTEMD_PATH, interface: MANAGER_INTERFACE };
const { interface: iface, member } = PROPERTIES_CHANGED;
const PROPERTIES: Match = { sender: SYSTEMD_NAME, interface: iface, member };

/** How jobs end matters only where there are commands. */
export function managerRules(scope: UnitScope): readonly Match[] {
  const members = ['Reloading', 'UnitFilesChanged', ...(scope === 'user' ? ['JobRemoved'] : [])];
  return members.map((each) => ({ ...MANAGER, member: each }));
}

/**
 * The rules for units, given by any names. A unit's own rules halve the traffic (measured: 17 kB instead of 38 kB for
 * start, restart and stop). Of system units the state is enough; of user units commands also need the service's result.
 */
export function unitRules(scope: UnitScope, names: readonly string[]): readonly Match[] {
  const which = scope === 'system' ? { arg0: UNIT_INTERFACE } : {};
  const removed: Match = { ...MANAGER, member: 'UnitRemoved' };
  if (names.length > SINGLE_MAX_UNITS)
    return [removed, { ...PROPERTIES, ...which, pathNamespace: UNIT_PATHS }];
  return names.flatMap((name) => [
    { ...removed, arg0: name },
    { ...PROPERTIES, ...which, path: unitPath(name) },
  ]);
}
