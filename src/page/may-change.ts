// Decides whether a part of the page may change its node (docs/security.md, "Look, do not touch"): every
// control asks here, and is not drawn where the node would refuse it.

import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { NodeState } from '../client/client.js';

/** True if the node around this part may be changed; a page of the house shows several. */
export const MayChange = createContext(true);

/** True until the node has answered, and for older nodes, which do not report it. */
export function mayChange({ server }: Pick<NodeState, 'server'>): boolean {
  return server?.control !== false;
}

export function useMayChange(): boolean {
  return useContext(MayChange);
}

interface ChangingProps {
  readonly children?: ComponentChildren;
  /** Drawn in its place; by default nothing. */
  readonly still?: ComponentChildren;
}

/** Draws controls only where something may be changed. */
export function Changing({ children = null, still = null }: ChangingProps) {
  return useMayChange() ? children : still;
}
