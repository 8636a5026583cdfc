// The column of the machine: upgrade, units, system. On a desk it is narrow, and folds away; on a phone it is
// a tab, and always whole.

import type { ComponentChildren } from 'preact';
import { Button } from './icons.js';
import { translate } from './language.js';

/** Above this width there is room for it beside the others, so it is open at first. */
const WIDE = '(min-width: 72rem)';

/** Undefined until somebody has folded or opened it. */
export type Folding = readonly [isOpen: boolean | undefined, open: (isOpen: boolean) => void];

interface NodeColumnProps {
  readonly folding: Folding;
  readonly children: ComponentChildren;
}

export function NodeColumn({ folding: [chosen, open], children }: NodeColumnProps) {
  const isOpen = chosen ?? matchMedia(WIDE).matches;
  return (
    <div class="column node" data-open={chosen}>
      <div class="fold-node">
        <Button isOpen={isOpen} onClick={() => open(!isOpen)}>
          {translate('tab_node')}
        </Button>
      </div>
      {children}
    </div>
  );
}
