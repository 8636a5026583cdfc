// Gives each part of the page the node that this part shows and controls.

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type Live, type Tonearm, tonearm } from '../client/client.js';

/** The node that served this page. Its address is relative to the page, because a proxy may add a path. */
export const ownNode = tonearm(new URL('.', location.href));

/**
 * A connection that several tabs of the browser may share. It has no `ready`, because a tab may get its
 * first state from another tab, and not from a connection of its own. `subscribe` calls the listener only at
 * changes. The `subscribe` of `Live` also calls the listener at the beginning.
 */
export type PageLive = Omit<Live, 'ready'>;

/** The connection of this part of the page; undefined for a room that is only a link (house.ts). */
export const Connected = createContext<PageLive | undefined>(undefined);

export function useLive(): PageLive {
  const live = useContext(Connected);
  if (live === undefined) throw new Error('This part of the page is not connected');
  return live;
}

/** Returns the node that this part of the page controls. The page may show several nodes, one per room. */
export function useNode(): Tonearm {
  return useLive().node;
}
