// Draws the column of the machine: upgrade, units, system. On a desk the column is narrow and can be folded.
// On a phone it is a tab, which cannot be folded.

import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { Button } from './icons.js';
import { translate } from './language.js';
import { useRedraw } from './parts.js';

/** From this width on the column has room beside the others, so it is open at first. */
const WIDE = '(min-width: 72rem)';

/** `isOpen` is undefined until somebody has folded or opened the column. */
export type Folding = readonly [isOpen: boolean | undefined, setOpen: (isOpen: boolean) => void];

interface NodeColumnProps {
  readonly folding: Folding;
  readonly children: ComponentChildren;
}

export function NodeColumn({ folding: [chosen, setOpen], children }: NodeColumnProps) {
  const isWide = useIsWide();
  const isOpen = chosen ?? isWide;
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
    const query = matchMedia(WIDE);
    query.addEventListener('change', redraw);
    return () => query.removeEventListener('change', redraw);
  }, [redraw]);
  return matchMedia(WIDE).matches;
}
