// Decides what the page of the house and the menu of rooms know of each room: its label, its player, its
// output, and the node on which its controls act. A room is this node, or another node that this node knows.

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

/** Returns the rooms with their labels. Connects the page to them while the calling component is drawn. */
export function useNamedRooms(isOwnNodeAway: boolean): readonly NamedRoom[] {
  const rooms = useRooms(isOwnNodeAway);
  const lastRooms = useRef<readonly RoomWithSound[]>([]);
  lastRooms.current = rooms.map((room) => {
    const last = lastRooms.current.find(({ key }) => key === room.key);
    return withSound(room, last);
  });
  return withLabels(lastRooms.current);
}

function useRooms(isOwnNodeAway: boolean): readonly Room[] {
  const ownLive = useLive();
  const redraw = useRedraw();
  const [house] = useState(() => new House(ownScript(), redraw));
  const { nodes } = ownLive.state;
  useEffect(() => () => house.close(), [house]);
  useEffect(() => house.update(nodes), [house, nodes]);
  return house.rooms(ownLive, isOwnNodeAway);
}

interface RoomWithSound extends Room {
  readonly player: PlayerRecord | undefined;
  readonly output: OutputRecord | undefined;
  /** The last known label of the output. */
  readonly lastLabel: string | undefined;
}

export type NamedRoom = RoomWithSound & { readonly label: string };

/** `last` is the same room at the last drawing. */
function withSound(room: Room, last: RoomWithSound | undefined): RoomWithSound {
  const state = room.live && withoutHidden(room.live.state);
  const player = state && currentPlayer([...state.players.values()], last?.player);
  const output = state && mainOutput(state, player);
  return { ...room, player, output, lastLabel: output?.label ?? last?.lastLabel };
}

/**
 * A room's label is the label of its main output, or the host name if there is no output. Until the room's
 * state is known, its label is its `name` (house.ts). If several rooms have the same label, the host name is
 * added to each label that is not the host name itself.
 */
function withLabels(rooms: readonly RoomWithSound[]): readonly NamedRoom[] {
  const labels = rooms.map(shortLabel);
  return rooms.map((room, index) => {
    const label = labels[index] ?? room.name;
    const host = room.live?.state.server?.hostname ?? room.name;
    const isUnique = labels.filter((other) => other === label).length === 1;
    const needsHost = !isUnique && label !== host;
    return { ...room, label: needsHost ? `${label} (${host})` : label };
  });
}

function shortLabel({ live, name, status, output, lastLabel }: RoomWithSound): string {
  // A room that is not live keeps its last label, because its state may lack the output. A node that is
  // switched off may lose its outputs before its connection. A node with a new address has no state yet.
  const outputLabel = status === 'live' ? output?.label : lastLabel;
  return outputLabel ?? live?.state.server?.hostname ?? name;
}

/**
 * The key of the text that says why a room cannot be controlled now; undefined if the room can be controlled.
 * `RoomStatus` (room-connection.ts) and `Room` (house.ts) explain the statuses.
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
