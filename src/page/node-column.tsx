// Draws the column of the node, which has the sections upgrade, services and system. The column can be folded
// where the page has several columns, but not on a phone.

import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { Button } from './icons.js';
import { translate } from './language.js';
import { useRedraw } from './parts.js';

/** From this width on, the column is open at first. It has room beside the other columns there (page.css). */
const WIDE_QUERY = '(min-width: 72rem)';

/** `isOpen` is undefined until somebody has folded or opened the column. `setOpen` sets `isOpen`. */
export type Folding = readonly [isOpen: boolean | undefined, setOpen: (isOpen: boolean) => void];

interface NodeColumnProps {
  readonly nodeFolding: Folding;
  readonly children: ComponentChildren;
}

export function NodeColumn({ nodeFolding: [isOpenByChoice, setOpen], children }: NodeColumnProps) {
  const isWide = useIsWide();
  const isOpen = isOpenByChoice ?? isWide;
  // Until somebody folds or opens the column, `data-open` is absent, and page.css decides by the width.
  return (
    <div class="column node" data-open={isOpenByChoice}>
      <div class="fold-node">
        <Button isOpen={isOpen} onClick={() => setOpen(!isOpen)}>
          {translate('tab_node')}
        </Button>
      </div>
      {children}
    </div>
  );
}

function useIsWide(): boolean {
  const redraw = useRedraw();
  useEffect(() => {
    const query = matchMedia(WIDE_QUERY);
    query.addEventListener('change', redraw);
    return () => query.removeEventListener('change', redraw);
  }, [redraw]);
  return matchMedia(WIDE_QUERY).matches;
}
