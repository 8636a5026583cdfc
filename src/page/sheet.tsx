// Draws a sheet: a dialog in front of the page. A sheet is open while it is drawn.

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Button } from './icons.js';
import { translate } from './language.js';

interface SheetProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Sheet({ title, onClose, children }: SheetProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="sheet" aria-labelledby={id} onClose={onClose}>
      <div class="dialog-content">
        <div class="row">
          <h2 id={id} class="grow wrap">
            {title}
          </h2>
          <div class="closing">
            <Button icon="close" label={translate('close')} onClick={() => dialog.current?.close()} />
          </div>
        </div>
        {children}
      </div>
    </dialog>
  );
}
