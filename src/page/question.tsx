// A question before what cannot be undone.

import { useId, useRef } from 'preact/hooks';
import { useAction } from './controls.js';
import { Button } from './icons.js';
import { translate } from './language.js';
import { Changing } from './may-change.js';

interface QuestionProps extends Pick<Parameters<typeof Button>[0], 'icon' | 'class' | 'disabled'> {
  readonly text: string;
  readonly ask: string;
  readonly explanation: string;
  /** The text of the button that confirms. */
  readonly yes: string;
  readonly isDangerous?: boolean;
  /** The title of a failure. */
  readonly failed: string;
  readonly send: () => Promise<unknown>;
}

/** With a confirmation dialog, which names the effect, and whose first button cancels. */
export function QuestionButton(props: QuestionProps) {
  const { text, ask, explanation, yes, isDangerous, failed, send, ...button } = props;
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const close = (): void => dialog.current?.close();
  const [isBusy, begin] = useAction(() => send().finally(close), failed);
  return (
    <Changing>
      <Button {...button} onClick={() => dialog.current?.showModal()}>
        <span class="clip">{text}</span>
      </Button>
      <dialog ref={dialog} aria-labelledby={`${id}-ask`} aria-describedby={`${id}-explanation`}>
        <h2 id={`${id}-ask`} class="wrap">
          {ask}
        </h2>
        <p id={`${id}-explanation`} class="wrap">
          {explanation}
        </p>
        <div class="row wrap-row end">
          <Button onClick={close}>{translate('cancel')}</Button>
          <Button class={isDangerous ? 'danger' : 'main'} isBusy={isBusy} onClick={begin}>
            <span class="clip">{yes}</span>
          </Button>
        </div>
      </dialog>
    </Changing>
  );
}
