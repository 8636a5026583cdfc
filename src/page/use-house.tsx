// Contains what the page of the house and the menu of rooms share: the rooms, their labels, and the contexts
// in which the controls of a room act on that room.

import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import type { NodeState } from '../client/client.js';
import { House, type Room } from './house.js';
import { translate } from './language.js';
import { mainOutput, withoutHidden } from './main-volume.js';
import { MayChange, mayChange } from './may-change.js';
import { Connected, useLive } from './node.js';
import { Reporting } from './notices.js';
import { useRedraw } from './parts.js';
import { ownScript } from './presence.js';
import type { TextKey } from './texts/english.js';

/**
 * The rooms of the house. The page is connected to them while the component is drawn. `isAway` is true while
 * this node is away.
 */
export function useRooms(isAway: boolean): readonly Room[] {
  const own = useLive();
  const redraw = useRedraw();
  const [house] = useState(() => new House(ownScript(), redraw));
  const { nodes } = own.state;
  useEffect(() => () => house.close(), [house]);
  useEffect(() => house.update(nodes), [house, nodes]);
  return house.rooms(own, isAway);
}

export type NamedRoom = Room & { readonly label: string };

/**
 * A room's label is that of its main output. If several rooms have the same label, it also contains the name
 * of the host. Until a room's state is known, its label is the name under which its node is announced.
 */
export function withLabels(rooms: readonly Room[]): readonly NamedRoom[] {
  const labels = rooms.map(({ live, name }) => (live && labelOf(live.state)) ?? name);
  return rooms.map((room, index) => {
    const label = labels[index] ?? room.name;
    const host = room.live?.state.server?.hostname ?? room.name;
    const isUnique = labels.filter((other) => other === label).length === 1;
    return { ...room, label: isUnique || label === host ? label : `${label} (${host})` };
  });
}

function labelOf(state: NodeState): string | undefined {
  return mainOutput(withoutHidden(state))?.label ?? state.server?.hostname;
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

/** The controls among the children act on this room, and the notice of a failure names it. */
export function InRoom({ room: { live, label }, children }: InRoomProps) {
  const report = useContext(Reporting);
  const reportInRoom: typeof report = (title, work) =>
    report(translate('because', { what: label, reason: title }), work);
  return (
    <Connected.Provider value={live}>
      <MayChange.Provider value={live !== undefined && mayChange(live.state)}>
        <Reporting.Provider value={reportInRoom}>{children}</Reporting.Provider>
      </MayChange.Provider>
    </Connected.Provider>
  );
}
