// The house view and the menu of rooms share this: the rooms, as long as they are drawn, their names, and the
// surroundings of the controls of one room.

import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import type { NodeState } from '../client/client.js';
import { House, type Room } from './house.js';
import { translate } from './language.js';
import { mainOutput, withoutHidden } from './main-volume.js';
import { MayChange, mayChange } from './may-change.js';
import { Connected, useLive } from './node.js';
import { Reporting } from './notices.js';
import { ownScript } from './presence.js';
import type { TextKey } from './texts/english.js';

/** `isAway`: this node is away. */
export function useRooms(isAway: boolean): readonly Room[] {
  const own = useLive();
  const [, draw] = useState(0);
  const [house] = useState(() => new House(ownScript(), () => draw((times) => times + 1)));
  const { nodes } = own.state;
  useEffect(() => () => house.close(), [house]);
  useEffect(() => house.update(nodes), [house, nodes]);
  return house.rooms(own, isAway);
}

export type NamedRoom = Room & { readonly label: string };

/**
 * A room is called as its main output; rooms that are called alike carry their hosts, too. One of which
 * nothing is known yet is called as its node is announced.
 */
export function named(rooms: readonly Room[]): readonly NamedRoom[] {
  const labels = rooms.map(({ live, name }) => (live && labelIn(live.state)) ?? name);
  return rooms.map((room, index) => {
    const label = labels[index] ?? room.name;
    const host = room.live?.state.server?.hostname ?? room.name;
    const isAlone = labels.filter((each) => each === label).length === 1;
    return { ...room, label: isAlone || label === host ? label : `${label} (${host})` };
  });
}

function labelIn(state: NodeState): string | undefined {
  return mainOutput(withoutHidden(state))?.label ?? state.server?.hostname;
}

/** The text of a room that cannot be controlled now. */
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

/** The controls within act on that room, and a failure names it. */
export function InRoom({ room: { live, label }, children }: InRoomProps) {
  const report = useContext(Reporting);
  const inRoom: typeof report = (title, work) =>
    report(translate('because', { what: label, reason: title }), work);
  return (
    <Connected.Provider value={live}>
      <MayChange.Provider value={live !== undefined && mayChange(live.state)}>
        <Reporting.Provider value={inRoom}>{children}</Reporting.Provider>
      </MayChange.Provider>
    </Connected.Provider>
  );
}
