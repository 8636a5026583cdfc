// The node that a part of the page shows and controls: its functions, and the live connection to it.

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type Live, type Tonearm, tonearm } from '../client/client.js';

/** The node that served this page. A proxy may serve it below a path of its own. */
export const ownNode = tonearm(new URL('.', location.href));

/** A connection that tabs may share: each of them has its first state at another time. */
export type PageLive = Omit<Live, 'ready'>;

/** Undefined only outside the page. */
export const Connected = createContext<PageLive | undefined>(undefined);

export function useLive(): PageLive {
  const live = useContext(Connected);
  if (live === undefined) throw new Error('This part of the page is not connected');
  return live;
}

/** The functions of the node around this part, as a page of the house shows several. */
export function useNode(): Tonearm {
  return useLive().node;
}
