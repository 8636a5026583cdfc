// A confirmation dialog for actions that cannot be undone: it names the effect, and its first button cancels.

import { useRef } from 'preact/hooks';
import { useAction } from './controls.js';
import { translate } from './language.js';

/** `send` is called for "yes"; then the dialog closes. `failed` is the title of a failure. */
export function useQuestion(send: () => Promise<unknown>, failed: string) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isUnderWay, begin] = useAction(() => send().finally(() => dialog.current?.close()), failed);
  return { dialog, isUnderWay, begin, open: () => dialog.current?.showModal() };
}

interface QuestionProps extends Omit<ReturnType<typeof useQuestion>, 'open'> {
  /** Prefix of the ids of its texts. */
  readonly id: string;
  readonly ask: string;
  readonly explanation: string;
  readonly yes: string;
  readonly isDangerous?: boolean;
}

export function Question({
  dialog,
  id,
  ask,
  explanation,
  yes,
  isDangerous,
  isUnderWay,
  begin,
}: QuestionProps) {
  return (
    <dialog ref={dialog} aria-labelledby={`${id}-ask`} aria-describedby={`${id}-explanation`}>
      <h2 id={`${id}-ask`} class="wrap">
        {ask}
      </h2>
      <p id={`${id}-explanation`} class="wrap">
        {explanation}
      </p>
      <div class="row wrap-row end">
        <button type="button" class="button" onClick={() => dialog.current?.close()}>
          {translate('cancel')}
        </button>
        <button
          type="button"
          class={`button ${isDangerous ? 'danger' : 'main'}`}
          aria-busy={isUnderWay}
          onClick={begin}
        >
          <span class="clip">{yes}</span>
        </button>
      </div>
    </dialog>
  );
}
