// A confirmation dialog for actions that cannot be undone: it names the effect, and its first button cancels.

import type { RefObject } from 'preact';

import { say } from './language.js';

interface QuestionProps {
  readonly dialog: RefObject<HTMLDialogElement | null>;
  /** Prefix of the ids of its texts. */
  readonly id: string;
  readonly ask: string;
  readonly explanation: string;
  readonly yes: string;
  readonly isDangerous?: boolean;
  readonly isUnderWay: boolean;
  readonly begin: () => void;
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
          {say('cancel')}
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
