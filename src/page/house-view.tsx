// The house on one page: all rooms at once, then each room.

import { useEffect, useState } from 'preact/hooks';
import type { NodeState } from '../client/client.js';
import { AllRooms } from './all-rooms.js';
import { translate } from './language.js';
import { useLive } from './node.js';
import { useTicks } from './parts.js';
import { Hands } from './pulse.js';
import { RoomCard } from './room.js';
import { placesOf } from './room-connection.js';
import { type NamedRoom, named, useRooms } from './use-house.js';

/** `isAway`: the node that served this page is away. */
export function HouseView({ isAway }: { readonly isAway: boolean }) {
  const { nodes } = useLive().state;
  const rooms = named(useRooms(isAway));
  useFreshPolicy(rooms);
  const better = rooms.some(({ status }) => status === 'shut') ? betterAddress(nodes) : undefined;
  return (
    <div class="house-view" id="now">
      <AllRooms rooms={rooms} />
      {better === undefined ? null : (
        <p class="card quiet">
          {translate('useAddress')} <a href={better}>{better}</a>
        </p>
      )}
      <ul class="rooms">
        {rooms.map((room) => (
          <RoomCard key={room.key} room={room} />
        ))}
      </ul>
    </div>
  );
}

/** An address at which other nodes accept this page; undefined if the page has one, or if none is known. */
function betterAddress(nodes: NodeState['nodes']): string | undefined {
  const own = [...nodes.values()].find(({ self }) => self);
  const places = own === undefined ? [] : placesOf(own);
  const isGood = places.some((place) => new URL(place).origin === location.origin);
  return isGood || places[0] === undefined ? undefined : `${places[0]}/ui?view=house`;
}

/** Without input for this time nobody uses the page. */
const STILL_MS = 3000;
const CHECK_MS = 1000;
const STORED = 'tonearm-blocked';

/**
 * The policy of the page names the nodes that were known when it was loaded. For a node that came later it is
 * loaded again, once, and when nobody uses it.
 */
function useFreshPolicy(rooms: readonly NamedRoom[]): void {
  const [hands] = useState(() => new Hands(document));
  const blocked = rooms.filter(({ status }) => status === 'blocked').map(({ href }) => href);
  const names = blocked.join(' ');
  useTicks(CHECK_MS, names !== '');
  useEffect(() => {
    if (names === '' || hands.idleMs < STILL_MS || isStored(names)) return;
    location.reload();
  });
}

/** True if the text was stored before, or cannot be stored: then the page would be loaded again and again. */
function isStored(text: string): boolean {
  try {
    const wasStored = sessionStorage.getItem(STORED) === text;
    sessionStorage.setItem(STORED, text);
    return wasStored;
  } catch {
    return true;
  }
}
