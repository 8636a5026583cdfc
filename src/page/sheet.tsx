// Draws a sheet: a dialog in front of the page. A sheet is open while it is drawn.

import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useId, useRef } from 'preact/hooks';
import { Button } from './icons.js';
import { translate } from './language.js';
import { Notices, type ReportFailure, Reporting, useNotices } from './notices.js';

interface SheetProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/**
 * While a sheet is open, the rest of the page is dark and inert, so the notice of a failure is in the sheet.
 * If the sheet was closed before the failure, the notice is on the page.
 */
export function Sheet({ title, onClose, children }: SheetProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const reportOnPage = useContext(Reporting);
  const { notices, report: reportInSheet, dismiss } = useNotices();
  const report: ReportFailure = async (failureTitle, work) => {
    // This line only waits for the end of `work`. The next line reports a failure of `work`.
    await work.catch(() => undefined);
    return dialog.current === null ? reportOnPage(failureTitle, work) : reportInSheet(failureTitle, work);
  };
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
        <Reporting.Provider value={report}>{children}</Reporting.Provider>
        <Notices notices={notices} dismiss={dismiss} />
      </div>
    </dialog>
  );
}
