// Reads the properties of one interface of a player by one call. If the player refuses this call, each
// property is read by its own call. Also decides whether a player is playerctld.

import { success } from '../../protocol/actor/result.js';
import { type PropertyRecord, type PropertyTable, readProperties } from '../../protocol/dbus/daemon.js';
import {
  PLAYER_PATH,
  PLAYERCTLD_INTERFACE,
  PLAYERCTLD_PROPERTIES,
  type playerMethods,
} from '../../protocol/dbus/mpris.js';
import type { BusCaller } from '../bus/bus.js';
import { type BusError, type BusResult, isAbsence } from '../bus/fault.js';
import { withoutPrototype } from '../text.js';

/** The deadline of one call. */
const READ_DEADLINE_MS = 5_000;
export const CALL_OPTIONS = { path: PLAYER_PATH, deadlineMs: READ_DEADLINE_MS };

type Methods = ReturnType<typeof playerMethods>;

/**
 * True if the player did not reply. An error that the player itself has sent is a reply. An error on our side
 * (`local`) counts as a reply, too.
 */
export function isWithoutReply(error: BusError): boolean {
  return error.kind === 'timeout' || error.kind === 'closed' || isAbsence(error);
}

/**
 * Some players know only `Get`. If the player answers `GetAll` with an error, the properties of `table` are
 * read by `Get`, and the result lacks those that cannot be read. The result is an error if no property can be
 * read, or if a call gets no reply.
 */
export async function fetchProperties(
  bus: BusCaller<'players'>,
  methods: Methods,
  iface: string,
  table: PropertyTable,
): Promise<BusResult<PropertyRecord>> {
  const getAllReply = await bus.call(methods.getAll, [iface], CALL_OPTIONS);
  if (getAllReply.ok || isWithoutReply(getAllReply.error)) return getAllReply;
  const entries: [name: string, value: unknown][] = [];
  // The properties are read one after the other, because only few calls may be under way on one bus.
  for (const name of Object.keys(table)) {
    const property = await bus.call(methods.get, [iface, name], CALL_OPTIONS);
    if (property.ok) entries.push([name, property.value]);
    else if (isWithoutReply(property.error)) return property;
  }
  return entries.length > 0 ? success(withoutPrototype(entries)) : getAllReply;
}

/**
 * True for playerctld, which repeats the state of another player, even after the other player has gone. Only
 * playerctld has the property `PlayerNames`.
 */
export async function isPlayerctld(bus: BusCaller<'players'>, methods: Methods): Promise<boolean> {
  const answer = await bus.call(methods.getAll, [PLAYERCTLD_INTERFACE], CALL_OPTIONS);
  return answer.ok && readProperties(PLAYERCTLD_PROPERTIES, answer.value).PlayerNames !== undefined;
}
