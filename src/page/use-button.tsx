// Draws the button that makes an output or an input the default.

import { useControl } from './controls.js';
import { Icon } from './icons.js';
import { translate } from './language.js';
import { IfMayChange } from './may-change.js';

interface UseProps {
  /** The name of the output or input. */
  readonly name: string;
  readonly isDefault: boolean;
  readonly send: () => Promise<unknown>;
}

export function UseButton({ name, isDefault, send }: UseProps) {
  const label = translate('useOf', { name });
  const { displayed, set } = useControl(isDefault, send, () => translate('didNotWork', { what: label }));
  // Both states have the same button, so that it keeps the focus.
  return (
    <IfMayChange instead={displayed ? <Icon name="tick" /> : null}>
      <button
        type="button"
        class="icon-button use"
        aria-label={label}
        title={label}
        aria-pressed={displayed}
        onClick={() => {
          if (!displayed) set(true);
        }}
      />
    </IfMayChange>
  );
}
