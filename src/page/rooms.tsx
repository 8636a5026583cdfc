// The menu of rooms in the header: what each room plays, with a button to pause it; and the way to the house
// on one page. It is drawn, and connected to the rooms, only while it is open.

import { translate } from './language.js';
import { withoutHidden } from './main-volume.js';
import { playingIn } from './room.js';
import { isPlaying, PlayButton } from './transport.js';
import { InRoom, type NamedRoom, named, STATUS_TEXTS, useRooms } from './use-house.js';

/** `isAway`: the node that served this page is away. */
export function RoomMenu({ isAway }: { readonly isAway: boolean }) {
  const rooms = named(useRooms(isAway));
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
  const { live, label, status, href, isOwn } = room;
  const state = live && withoutHidden(live.state);
  const players = [...(state?.players.values() ?? [])];
  const player = players.find(isPlaying) ?? players[0];
  const text = STATUS_TEXTS[status];
  const plays = state === undefined || status !== 'live' ? '' : playingIn(state, player);
  return (
    <li class="row">
      <a class="grow" href={href} aria-current={isOwn ? 'page' : undefined}>
        <bdi class="clip">{label}</bdi>
        <span class="quiet clip">{text === undefined ? plays : translate(text)}</span>
      </a>
      {player === undefined || status !== 'live' ? null : (
        <InRoom room={room}>
          <PlayButton player={player} label={(what) => translate('ofPlayer', { what, name: label })} />
        </InRoom>
      )}
    </li>
  );
}
