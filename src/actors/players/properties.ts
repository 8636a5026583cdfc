// Reads the properties of one interface of a player: all at once, or one by one where the player does not
// answer that.

import { type PropertyRecord, type PropertyTable, readProperties } from '../../protocol/dbus/daemon.js';
import {
  PLAYER_PATH,
  type playerMethods,
  STAND_IN_INTERFACE,
  STAND_IN_PROPERTIES,
} from '../../protocol/dbus/mpris.js';
import type { Caller } from '../bus/bus.js';
import { type BusError, type BusResult, isAbsence } from '../bus/fault.js';
import { withoutPrototype } from '../text.js';

/** The deadline of one call. */
const READ_DEADLINE_MS = 5_000;
export const CALL_OPTIONS = { path: PLAYER_PATH, deadlineMs: READ_DEADLINE_MS };

type Methods = ReturnType<typeof playerMethods>;

/** True if the player did not answer at all; false if it answered with an error. */
export function isWithoutReply(error: BusError): boolean {
  return error.kind === 'timeout' || error.kind === 'closed' || isAbsence(error);
}

/**
 * Some players fail at `GetAll` and answer `Get`: then the properties are read one by one. Those that fail
 * are missing, and it is an error if all do.
 */
export async function fetchProperties(
  bus: Caller<'players'>,
  methods: Methods,
  iface: string,
  table: PropertyTable,
): Promise<BusResult<PropertyRecord>> {
  const all = await bus.call(methods.getAll, [iface], CALL_OPTIONS);
  if (all.ok || isWithoutReply(all.error)) return all;
  const entries: [string, unknown][] = [];
  // One after the other: the calls that may wait on one bus are few.
  for (const name of Object.keys(table)) {
    const one = await bus.call(methods.get, [iface, name], CALL_OPTIONS);
    if (one.ok) entries.push([name, one.value]);
    else if (isWithoutReply(one.error)) return one;
  }
  return entries.length > 0 ? { ok: true, value: withoutPrototype(entries) } : all;
}

/** True for playerctld: it repeats the newest player, and keeps that player's state when it has gone. */
export async function isStandIn(bus: Caller<'players'>, methods: Methods): Promise<boolean> {
  const answer = await bus.call(methods.getAll, [STAND_IN_INTERFACE], CALL_OPTIONS);
  return answer.ok && readProperties(STAND_IN_PROPERTIES, answer.value).PlayerNames !== undefined;
}
