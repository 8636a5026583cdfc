// Draws the page of the whole house: first the controls that act on all rooms, then each room. Decides when
// the page proposes a better address, and when it is loaded again because its policy blocks rooms.

import { useEffect, useState } from 'preact/hooks';
import type { NodeState } from '../client/client.js';
import { AllRooms } from './all-rooms.js';
import { translate } from './language.js';
import { InputWatch } from './liveness.js';
import { useLive } from './node.js';
import { useTicks } from './parts.js';
import { RoomCard } from './room.js';
import { nodeUrls } from './room-connection.js';
import { type NamedRoom, useNamedRooms } from './use-house.js';

/**
 * `isAway` is true while the node that served this page is away. A room may have the status `shut` because
 * its node does not trust the address of this page. Then the page proposes a better address.
 */
export function HouseView({ isAway }: { readonly isAway: boolean }) {
  const { nodes } = useLive().state;
  const rooms = useNamedRooms(isAway);
  useFreshPolicy(rooms);
  const isAnyRoomShut = rooms.some(({ status }) => status === 'shut');
  const betterUrl = isAnyRoomShut ? urlForHouse(nodes) : undefined;
  return (
    <div class="house-view" id="now">
      <AllRooms rooms={rooms} />
      {betterUrl === undefined ? null : (
        <p class="card quiet">
          {translate('useAddress')} <a href={betterUrl}>{betterUrl}</a>
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
 * Returns the URL of this page with the first address that the page's own node announces, or with the
 * announced host name if there is no address. Other nodes trust a page from a private address, or from a
 * name below `.local` (docs/http-api.md, "The house"). Returns undefined if this page was already loaded from
 * an announced address or host name, or if no such address or name is known.
 */
function urlForHouse(nodes: NodeState['nodes']): string | undefined {
  const ownNode = [...nodes.values()].find(({ self }) => self);
  const urls = ownNode === undefined ? [] : nodeUrls(ownNode);
  const hasGoodUrl = urls.some((url) => new URL(url).origin === location.origin);
  const [first] = urls;
  return hasGoodUrl || first === undefined ? undefined : `${first}/ui?view=house`;
}

/** The page is loaded again only when it has had no input for this long. */
const UNUSED_MS = 3000;
/** While a room is blocked, the page checks this often whether it can be loaded again. */
const CHECK_MS = 1000;
/** Under this key, the tab's storage has the URLs of the rooms for which the page was loaded again. */
const STORAGE_KEY = 'tonearm-blocked';

/**
 * The page's Content-Security-Policy allows the nodes that were known when the page was loaded, and blocks
 * all others. If rooms are blocked, the page is loaded again as soon as its own node is there and nobody uses
 * the page. It is not loaded again two times in a row for the same rooms.
 */
function useFreshPolicy(rooms: readonly NamedRoom[]): void {
  const [input] = useState(() => new InputWatch(document));
  const blocked = rooms.filter(({ status }) => status === 'blocked');
  const blockedUrls = blocked.map(({ href }) => href).join(' ');
  const isAnyBlocked = blockedUrls !== '';
  const isNodeLive = rooms.some(({ isOwn, status }) => isOwn && status === 'live');
  // Each tick draws the component again, and each drawing runs the effect.
  useTicks(CHECK_MS, isAnyBlocked);
  useEffect(() => {
    const isInUse = input.idleMs < UNUSED_MS;
    if (isAnyBlocked && isNodeLive && !isInUse && storeIfNew(blockedUrls)) location.reload();
  });
}

/**
 * Stores the text. Returns false if the text was stored already, or if the browser has no storage. The page
 * is not loaded again then, because otherwise it might be loaded again and again.
 */
function storeIfNew(text: string): boolean {
  try {
    const isNew = sessionStorage.getItem(STORAGE_KEY) !== text;
    sessionStorage.setItem(STORAGE_KEY, text);
    return isNew;
  } catch {
    return false;
  }
}
