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
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    // The dialog itself is the target only of a click beside the sheet.
    current?.addEventListener('click', ({ target }) => {
      if (target === current) current.close();
    });
  }, []);
  return (
    <dialog ref={dialog} class="sheet" aria-labelledby={id} onClose={onClose}>
      <div class="sheet-content">
        <div class="row">
          <h2 id={id} class="grow wrap">
            {title}
          </h2>
          <Button icon="close" label={translate('close')} onClick={() => dialog.current?.close()} />
        </div>
        {children}
      </div>
    </dialog>
  );
}
