// Draws the page of the whole house: the controls of all rooms at once, then each room.

import { useEffect, useState } from 'preact/hooks';
import type { NodeState } from '../client/client.js';
import { AllRooms } from './all-rooms.js';
import { translate } from './language.js';
import { useLive } from './node.js';
import { useTicks } from './parts.js';
import { InputWatch } from './pulse.js';
import { RoomCard } from './room.js';
import { placesOf } from './room-connection.js';
import { type NamedRoom, useRooms, withLabels } from './use-house.js';

/** `isAway`: the node that served this page is away. */
export function HouseView({ isAway }: { readonly isAway: boolean }) {
  const { nodes } = useLive().state;
  const rooms = withLabels(useRooms(isAway));
  useFreshPolicy(rooms);
  const isShutOut = rooms.some(({ status }) => status === 'shut');
  const better = isShutOut ? betterAddress(nodes) : undefined;
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

/**
 * An address of this node at which other nodes let the page in; undefined if the page has such an address
 * already, or if none is known.
 */
function betterAddress(nodes: NodeState['nodes']): string | undefined {
  const own = [...nodes.values()].find(({ self }) => self);
  const places = own === undefined ? [] : placesOf(own);
  const hasGoodAddress = places.some((place) => new URL(place).origin === location.origin);
  return hasGoodAddress || places[0] === undefined ? undefined : `${places[0]}/ui?view=house`;
}

/** The page is loaded again only when it has had no input for this long. */
const UNUSED_MS = 3000;
const CHECK_MS = 1000;
/** The key in the tab's storage. Its value is the rooms for which the page was loaded again. */
const STORAGE_KEY = 'tonearm-blocked';

/**
 * The page's policy allows the nodes that were known when the page was loaded, and blocks all others. If
 * rooms are blocked, the page is loaded again once, as soon as nobody uses it.
 */
function useFreshPolicy(rooms: readonly NamedRoom[]): void {
  const [input] = useState(() => new InputWatch(document));
  const blocked = rooms.filter(({ status }) => status === 'blocked').map(({ href }) => href);
  const addresses = blocked.join(' ');
  useTicks(CHECK_MS, addresses !== '');
  useEffect(() => {
    const isInUse = input.idleMs < UNUSED_MS;
    if (addresses !== '' && !isInUse && storeFirst(addresses)) location.reload();
  });
}

/**
 * Stores the text. Returns false if the text was stored before or cannot be stored, because the page would
 * otherwise be loaded again and again.
 */
function storeFirst(text: string): boolean {
  try {
    const isFirst = sessionStorage.getItem(STORAGE_KEY) !== text;
    sessionStorage.setItem(STORAGE_KEY, text);
    return isFirst;
  } catch {
    return false;
  }
}
