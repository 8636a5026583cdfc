// Decides whether a part of the page may change its node (docs/security.md, "Look, do not touch"). A control
// is not drawn, or is disabled, if the node would refuse its change.

import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { NodeState } from '../client/client.js';

/**
 * True if the node that this part of the page shows may be changed. A page of the house shows several nodes.
 */
export const MayChange = createContext(true);

/** True also before the node has answered, and for an older node, whose record does not have `control`. */
export function mayChange({ server }: Pick<NodeState, 'server'>): boolean {
  return server?.control !== false;
}

export function useMayChange(): boolean {
  return useContext(MayChange);
}

interface IfMayChangeProps {
  readonly children?: ComponentChildren;
  /** Drawn where nothing may be changed; nothing by default. */
  readonly instead?: ComponentChildren;
}

/** Draws its children, which are controls, only where the node may be changed. */
export function IfMayChange({ children = null, instead = null }: IfMayChangeProps) {
  return useMayChange() ? children : instead;
}
