// Decides what the page of the house and the menu of rooms know of each room: its label, its player, its
// output, and the node on which its controls act. The rooms are this node and the nodes that it knows.

import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { OutputRecord, PlayerRecord } from '../client/client.js';
import { House, type Room } from './house.js';
import { translate } from './language.js';
import { currentPlayer, mainOutput, withoutHidden } from './main-volume.js';
import { MayChangeContext, mayChange } from './may-change.js';
import { Connected, useLive } from './node.js';
import { Reporting } from './notices.js';
import { useRedraw } from './parts.js';
import { ownScript } from './presence.js';
import type { TextKey } from './texts/english.js';

/**
 * Connects the page to the rooms while the component that calls this is drawn. `isAway` is true while the
 * page's own node is away.
 */
export function useNamedRooms(isAway: boolean): readonly NamedRoom[] {
  const rooms = useRooms(isAway);
  const lastRooms = useRef<readonly PlayingRoom[]>([]);
  lastRooms.current = rooms.map((room) => {
    const last = lastRooms.current.find(({ key }) => key === room.key);
    return playingRoom(room, last);
  });
  return withLabels(lastRooms.current);
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

interface PlayingRoom extends Room {
  readonly player: PlayerRecord | undefined;
  readonly output: OutputRecord | undefined;
  /** The label of the output, as it was last known. */
  readonly lastLabel: string | undefined;
}

export type NamedRoom = PlayingRoom & { readonly label: string };

/** `last` is the same room at the last drawing. */
function playingRoom(room: Room, last: PlayingRoom | undefined): PlayingRoom {
  const state = room.live && withoutHidden(room.live.state);
  const player = state && currentPlayer([...state.players.values()], last?.player);
  const output = state && mainOutput(state, player);
  return { ...room, player, output, lastLabel: output?.label ?? last?.lastLabel };
}

/**
 * A room's label is that of its main output, or the name of its host if there is no output. Until a room's
 * state is known, its label is the name under which its node is announced. If several rooms have the same
 * label, the name of the host is added to each.
 */
function withLabels(rooms: readonly PlayingRoom[]): readonly NamedRoom[] {
  const labels = rooms.map(ownLabel);
  return rooms.map((room, index) => {
    const label = labels[index] ?? room.name;
    const host = room.live?.state.server?.hostname ?? room.name;
    const isUnique = labels.filter((other) => other === label).length === 1;
    const needsHost = !isUnique && label !== host;
    return { ...room, label: needsHost ? `${label} (${host})` : label };
  });
}

function ownLabel({ live, name, status, output, lastLabel }: PlayingRoom): string {
  // A room that is not live keeps its last label, because its state may lack the output: a node that is
  // switched off may lose its outputs before its connection, and one with a new address has no state yet.
  const outputLabel = status === 'live' ? output?.label : lastLabel;
  return outputLabel ?? live?.state.server?.hostname ?? name;
}

/**
 * Why a room cannot be controlled now; undefined if it can. The statuses are explained at `RoomStatus` in
 * room-connection.ts, and `link` in house.ts.
 */
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
