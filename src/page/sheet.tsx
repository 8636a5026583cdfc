// A sheet in front of the page: at a phone's foot, in the middle of a larger screen. Its content exists only
// while it is open.

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
    // The press was beside the sheet, whose content lies on an element of its own. The key for this is
    // Escape.
    current?.addEventListener('click', ({ target }) => target === current && current.close());
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
