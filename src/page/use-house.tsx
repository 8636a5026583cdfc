// Decides the labels of rooms, and on which node the controls of a room act, for the page of the house and
// the menu of rooms.

import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { House, type Room } from './house.js';
import { translate } from './language.js';
import { mainOutput, withoutHidden } from './main-volume.js';
import { MayChangeContext, mayChange } from './may-change.js';
import { Connected, useLive } from './node.js';
import { Reporting } from './notices.js';
import { useRedraw } from './parts.js';
import { ownScript } from './presence.js';
import type { TextKey } from './texts/english.js';

/** Connects the page to the rooms while the component is drawn. `isAway`: this node is away. */
export function useNamedRooms(isAway: boolean): readonly NamedRoom[] {
  const rooms = useRooms(isAway);
  /** The label of each room's main output, as it was last known, by the key of the room. */
  const lastLabels = useRef(new Map<string, string>());
  return withLabels(rooms, lastLabels.current);
}

function useRooms(isAway: boolean): readonly Room[] {
  const ownLive = useLive();
  const redraw = useRedraw();
  const [house] = useState(() => new House(ownScript(), redraw));
  const { nodes } = ownLive.state;
  useEffect(() => () => house.close(), [house]);
  useEffect(() => house.update(nodes), [house, nodes]);
  return house.rooms(ownLive, isAway);
}

export type NamedRoom = Room & { readonly label: string };

/**
 * A room's label is that of its main output, or the name of its host if there is no output. Until a room's
 * state is known, its label is the name under which its node is announced. If several rooms have the same
 * label, the name of the host is added to each.
 */
function withLabels(rooms: readonly Room[], lastLabels: Map<string, string>): readonly NamedRoom[] {
  for (const [key] of lastLabels) if (!rooms.some((room) => room.key === key)) lastLabels.delete(key);
  const labels = rooms.map((room) => ownLabel(room, lastLabels));
  return rooms.map((room, index) => {
    const label = labels[index] ?? room.name;
    const host = room.live?.state.server?.hostname ?? room.name;
    const isUnique = labels.filter((other) => other === label).length === 1;
    const needsHost = !isUnique && label !== host;
    return { ...room, label: needsHost ? `${label} (${host})` : label };
  });
}

/** Also keeps the label of the output in `lastLabels`. */
function ownLabel({ key, live, name, status }: Room, lastLabels: Map<string, string>): string {
  const output = live && mainOutput(withoutHidden(live.state));
  if (output !== undefined) lastLabels.set(key, output.label);
  // The last label is only for a room that is not live. A node that was switched off may have lost its
  // outputs before the connection ended. A node with a new address has no state at first.
  const lastLabel = status === 'live' ? undefined : lastLabels.get(key);
  return output?.label ?? lastLabel ?? live?.state.server?.hostname ?? name;
}

/** Why a room cannot be controlled now; undefined if it can. */
export const STATUS_TEXTS: Readonly<Record<Room['status'], TextKey | undefined>> = {
  live: undefined,
  connecting: 'connecting',
  away: 'roomAway',
  shut: 'roomShut',
  blocked: 'roomShut',
  link: 'roomLink',
};

interface InRoomProps {
  readonly room: NamedRoom;
  readonly children: ComponentChildren;
}

/** The controls among the children act on this room. The notice of a failure names the room. */
export function InRoom({ room: { live, label }, children }: InRoomProps) {
  const report = useContext(Reporting);
  // `because` makes `LABEL: TITLE` of the two texts.
  const reportInRoom: typeof report = (title, work) =>
    report(translate('because', { what: label, reason: title }), work);
  return (
    <Connected.Provider value={live}>
      <MayChangeContext.Provider value={live !== undefined && mayChange(live.state)}>
        <Reporting.Provider value={reportInRoom}>{children}</Reporting.Provider>
      </MayChangeContext.Provider>
    </Connected.Provider>
  );
}
