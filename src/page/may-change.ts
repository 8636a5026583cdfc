// Decides whether a part of the page may change its node (docs/security.md, "Look, do not touch").

import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { NodeState } from '../client/client.js';

/** True if the node of this part of the page may be changed. The page of the house shows several nodes. */
export const MayChangeContext = createContext(true);

/** True also before the node has answered. The record of an older node has no `control`. */
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
