// Draws the column of the machine: upgrade, units, system. It can be folded where the page has several
// columns, but not on a phone.

import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { Button } from './icons.js';
import { translate } from './language.js';
import { useRedraw } from './parts.js';

/** From this width on the column is open at first, because it has room beside the others. See page.css. */
const WIDE_QUERY = '(min-width: 72rem)';

/** The column's state and setter. The state is undefined until somebody has folded or opened the column. */
export type Folding = readonly [isOpen: boolean | undefined, setOpen: (isOpen: boolean) => void];

interface NodeColumnProps {
  readonly nodeFolding: Folding;
  readonly children: ComponentChildren;
}

export function NodeColumn({ nodeFolding: [chosen, setOpen], children }: NodeColumnProps) {
  const isWide = useIsWide();
  const isOpen = chosen ?? isWide;
  // Until somebody chooses, `data-open` is absent, and page.css decides by the width.
  return (
    <div class="column node" data-open={chosen}>
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
