// Draws the header's menu of rooms: what each room plays, with its play button. The menu is drawn, and is
// connected to the rooms, only while it is open.

import { translate } from './language.js';
import { PlayButton, playingTitle } from './transport.js';
import { InRoom, type NamedRoom, STATUS_TEXTS, useNamedRooms } from './use-house.js';

/** `isAway`: the node that served this page is away. */
export function RoomMenu({ isAway }: { readonly isAway: boolean }) {
  const rooms = useNamedRooms(isAway);
  return (
    <ul class="card lines room-menu">
      <li>
        <a class="strong" href="?view=house">
          {translate('allRooms')}
        </a>
      </li>
      {rooms.map((room) => (
        <RoomItem key={room.key} room={room} />
      ))}
    </ul>
  );
}

function RoomItem({ room }: { readonly room: NamedRoom }) {
  const { live, label, status, href, isOwn, player } = room;
  /** Why the room cannot be controlled; undefined if its status is `live`. */
  const obstacle = STATUS_TEXTS[status];
  const isConnected = status === 'live';
  const title = live !== undefined && isConnected ? playingTitle(live.state, player) : '';
  return (
    <li class="row">
      <a class="grow" href={href} aria-current={isOwn ? 'page' : undefined}>
        <bdi class="clip">{label}</bdi>
        <span class="quiet clip">{obstacle === undefined ? title : translate(obstacle)}</span>
      </a>
      {player === undefined || !isConnected ? null : (
        <InRoom room={room}>
          <PlayButton player={player} label={(what) => translate('labelWithName', { what, name: label })} />
        </InRoom>
      )}
    </li>
  );
}
