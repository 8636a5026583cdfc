// Draws a button that asks a question before an action that cannot be undone.

import { useId, useRef } from 'preact/hooks';
import { useAction } from './controls.js';
import { Button } from './icons.js';
import { translate } from './language.js';
import { IfMayChange } from './may-change.js';

interface QuestionProps extends Pick<Parameters<typeof Button>[0], 'icon' | 'class' | 'disabled'> {
  readonly text: string;
  readonly question: string;
  readonly explanation: string;
  /** The text of the button that confirms. */
  readonly confirm: string;
  readonly isDangerous?: boolean;
  readonly failureTitle: string;
  readonly send: () => Promise<unknown>;
}

/** The button opens a dialog, which explains the effect of the action. The dialog's first button cancels. */
export function QuestionButton(props: QuestionProps) {
  const { text, question, explanation, confirm, isDangerous, failureTitle, send, ...button } = props;
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const close = (): void => dialog.current?.close();
  // A failure closes the dialog, too. Otherwise the notice of the failure would be behind the dialog.
  const sendAndClose = (): Promise<unknown> => send().finally(close);
  const [isBusy, begin] = useAction(sendAndClose, failureTitle);
  return (
    <IfMayChange>
      <Button {...button} onClick={() => dialog.current?.showModal()}>
        <span class="clip">{text}</span>
      </Button>
      <dialog ref={dialog} aria-labelledby={`${id}-question`} aria-describedby={`${id}-explanation`}>
        <div class="dialog-content">
          <h2 id={`${id}-question`} class="wrap">
            {question}
          </h2>
          <p id={`${id}-explanation`} class="wrap">
            {explanation}
          </p>
          <div class="row wrap-row end">
            <div class="closing">
              <Button onClick={close}>{translate('cancel')}</Button>
            </div>
            <Button class={isDangerous ? 'danger' : 'main'} isBusy={isBusy} onClick={begin}>
              <span class="clip">{confirm}</span>
            </Button>
          </div>
        </div>
      </dialog>
    </IfMayChange>
  );
}
