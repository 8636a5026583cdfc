// Decides whether a part of the page may change its node (docs/security.md, "Look, do not touch").

import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { NodeState } from '../client/client.js';

/** True if this part of the page may change its node. The page may show several nodes, one for each room. */
export const MayChangeContext = createContext(true);

/**
 * True if the node may be changed. An older node has no `control` in `server`, and may be changed. The result
 * is also true while `server` is not known yet.
 */
export function mayChange({ server }: Pick<NodeState, 'server'>): boolean {
  return server?.control !== false;
}

export function useMayChange(): boolean {
  return useContext(MayChangeContext);
}

interface IfMayChangeProps {
  readonly children?: ComponentChildren;
}

/** Draws its children only if the node may be changed. */
export function IfMayChange({ children = null }: IfMayChangeProps) {
  return useMayChange() ? children : null;
}
