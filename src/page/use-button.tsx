// Draws the button that makes an output or an input the default. On a node that may not be changed, only the
// default has this button, as a mark.

import { useControl } from './controls.js';
import { translate } from './language.js';
import { useMayChange } from './may-change.js';

interface UseProps {
  /** The name of the output or input. */
  readonly name: string;
  readonly isDefault: boolean;
  readonly send: () => Promise<unknown>;
}

export function UseButton({ name, isDefault, send }: UseProps) {
  const label = translate('useOf', { name });
  const failureTitle = (): string => translate('didNotWork', { what: label });
  const { displayed: isDisplayedAsDefault, set } = useControl(isDefault, send, failureTitle);
  const mayChange = useMayChange();
  if (!mayChange && !isDisplayedAsDefault) return null;
  // The default and the others have the same button, so that a pressed button keeps the focus.
  return (
    <button
      type="button"
      class="icon-button use"
      aria-label={label}
      title={label}
      aria-pressed={isDisplayedAsDefault}
      disabled={!mayChange}
      onClick={() => {
        if (!isDisplayedAsDefault) set(true);
      }}
    />
  );
}
