// The node that served this page: its functions, and the live connection to it.

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type Live, tonearm } from '../client/client.js';

/** A proxy may serve the node below a path of its own. */
export const node = tonearm(new URL('.', location.href));

/** Undefined only outside the page. */
export const Connected = createContext<Live | undefined>(undefined);

export function useLive(): Live {
  const live = useContext(Connected);
  if (live === undefined) throw new Error('This part of the page is not connected');
  return live;
}
